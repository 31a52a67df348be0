import type { components } from '@fleet/api-client';
import { Button, Checkbox, Group, Stack, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { Failure, Loading } from '../../../common/ui/states.tsx';

type Preferences = components['schemas']['VehiclePreferences'];
type NotificationType = components['schemas']['NotificationType'];

const channels = ['push', 'sms', 'email'] as const;

/** Shows the user's own notification types and channels for the vehicle. */
export function NotificationsTab({ vehicle }: { vehicle: Vehicle }) {
  const { api } = useSession();
  const path = { vehicleId: vehicle.id };
  const preferences = useQuery({
    queryKey: ['getVehiclePreferences', vehicle.id],
    queryFn: async () =>
      (await api.GET('/api/notifications/vehicle-preferences/{vehicleId}', { params: { path } })).data?.data,
  });
  const types = useQuery({
    queryKey: ['listNotificationTypes'],
    queryFn: async () => (await api.GET('/api/notifications/types')).data?.data ?? [],
  });
  const failed = [preferences, types].find(({ isError }) => isError);
  if (failed !== undefined) return <Failure error={failed.error} onRetry={() => void failed.refetch()} />;
  if (preferences.data === undefined || types.data === undefined) return <Loading />;
  return <PreferencesForm key={vehicle.id} stored={preferences.data} types={types.data} />;
}

interface PreferencesFormProps {
  readonly stored: Preferences;
  readonly types: readonly NotificationType[];
}

function PreferencesForm({ stored, types }: PreferencesFormProps) {
  const { t } = useTranslation('vehicle');
  const { api } = useSession();
  const queries = useQueryClient();
  const [wanted, setWanted] = useState<readonly string[]>(stored.notification_types);
  const [chosen, setChosen] = useState<readonly string[]>(stored.channels);
  const path = { vehicleId: stored.vehicle_id };
  const save = useMutation({
    mutationFn: () => {
      const body = { notification_types: [...wanted], channels: channels.filter((name) => chosen.includes(name)) };
      return api.POST('/api/notifications/update-preferences/{vehicleId}', { params: { path }, body });
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getVehiclePreferences', stored.vehicle_id] }),
  });
  const categories = [...new Set(types.map(({ category }) => category))];
  return (
    <Stack gap="md">
      <section className="card" aria-label={t('notifications.channels')}>
        <h2>{t('notifications.channels')}</h2>
        <Checkbox.Group value={[...chosen]} onChange={setChosen} aria-label={t('notifications.channels')}>
          <Group gap="lg">
            {channels.map((name) => (
              <Checkbox key={name} value={name} label={t(`notifications.channel.${name}`)} />
            ))}
          </Group>
        </Checkbox.Group>
        <Group gap="sm" mt="md">
          <Button size="xs" variant="default" onClick={() => setWanted(types.map(({ type }) => type))}>
            {t('notifications.all')}
          </Button>
          <Button size="xs" variant="default" onClick={() => setWanted([])}>
            {t('notifications.none')}
          </Button>
          <Text c="dimmed">{t('notifications.hint')}</Text>
        </Group>
      </section>
      <Checkbox.Group value={[...wanted]} onChange={setWanted} aria-label={t('notifications.types')}>
        <div className="vehicle-grid">
          {categories.map((category) => (
            <section key={category} className="card" aria-label={t(`category.${category}`)}>
              <h2>{t(`category.${category}`)}</h2>
              <Stack gap="xs">
                {types
                  .filter((type) => type.category === category)
                  .map(({ type, title, severity }) => (
                    <Group key={type} gap="xs" wrap="nowrap">
                      <SeverityMark
                        severity={toSeverity(severity)}
                        label={t(`common:severity.${toSeverity(severity)}`)}
                      />
                      <Checkbox value={type} label={title} />
                    </Group>
                  ))}
              </Stack>
            </section>
          ))}
        </div>
      </Checkbox.Group>
      {save.isError ? <Failure error={save.error} /> : null}
      <Group className="vehicle-save">
        <Button loading={save.isPending} onClick={() => save.mutate()}>
          {t('common:action.save')}
        </Button>
        {save.isSuccess ? <Text role="status">{t('common:form.saved')}</Text> : null}
      </Group>
    </Stack>
  );
}
