import { Button, Checkbox, Group, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Preferences, usePreferences } from '../../../common/format/preferences-context.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { BrowserNotifications } from './browser-notifications.tsx';
import { VehicleNotifications } from './vehicle-notifications.tsx';

type Notifications = Preferences['notifications'];
const channels = ['push', 'sms', 'email', 'sound'] as const;
const defaultQuietHours = { from: '22:00', to: '06:00' };

/** Shows the channels and quiet hours of the user, and the types of events of each vehicle. */
export function NotificationsTab() {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const preferences = usePreferences();
  const save = useMutation({
    mutationFn: (notifications: Partial<Notifications>) =>
      api.PUT('/api/user-preferences/me', { body: { notifications } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getPreferences'] }),
  });
  if (preferences === undefined) return <Loading />;
  const { notifications } = preferences;
  return (
    <Stack>
      <section className="card" aria-label={t('notifications.channels')}>
        <Title order={2} size="h4" mb="sm">
          {t('notifications.channels')}
        </Title>
        {save.isError ? <Failure error={save.error} /> : null}
        <Stack gap="sm">
          {channels.map((channel) => (
            <Checkbox
              key={channel}
              label={t(`notifications.channel.${channel}`)}
              checked={notifications[channel]}
              onChange={({ currentTarget }) => save.mutate({ [channel]: currentTarget.checked })}
            />
          ))}
        </Stack>
      </section>
      <QuietHours
        key={JSON.stringify(notifications.quiet_hours)}
        quietHours={notifications.quiet_hours}
        isSaving={save.isPending}
        onSave={(hours) => save.mutate({ quiet_hours: hours })}
      />
      <Text role="status" size="sm">
        {save.isSuccess ? t('preferences.saved') : ''}
      </Text>
      <BrowserNotifications />
      <VehicleNotifications />
    </Stack>
  );
}

interface QuietHoursProps {
  readonly quietHours: Notifications['quiet_hours'];
  readonly isSaving: boolean;
  readonly onSave: (hours: Notifications['quiet_hours']) => void;
}

/** Hours in which only critical events are sent. */
function QuietHours({ quietHours, isSaving, onSave }: QuietHoursProps) {
  const { t } = useTranslation('profile');
  const [hours, setHours] = useState(quietHours ?? defaultQuietHours);
  return (
    <form
      className="card"
      aria-label={t('notifications.quietHours')}
      onSubmit={(event) => {
        event.preventDefault();
        onSave(hours);
      }}
    >
      <Title order={2} size="h4" mb="sm">
        {t('notifications.quietHours')}
      </Title>
      <Text c="dimmed" mb="sm">
        {t(quietHours === null ? 'notifications.noQuietHours' : 'notifications.quietHint', hours)}
      </Text>
      <Group align="end">
        {(['from', 'to'] as const).map((side) => (
          <TextInput
            key={side}
            type="time"
            label={t(`notifications.${side}`)}
            value={hours[side]}
            required
            onChange={({ currentTarget }) => setHours({ ...hours, [side]: currentTarget.value })}
          />
        ))}
        <Button type="submit" loading={isSaving}>
          {t('common:action.save')}
        </Button>
        {quietHours === null ? null : (
          <Button variant="default" onClick={() => onSave(null)}>
            {t('notifications.endQuietHours')}
          </Button>
        )}
      </Group>
    </form>
  );
}
