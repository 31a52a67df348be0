import { Button, Checkbox, Fieldset, Group, Select, Stack, Text, Title } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../../common/fleet/queries.ts';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { useNotificationTypes } from '../webhooks/queries.ts';
import '@mantine/core/styles/Fieldset.css';

const severities = ['critical', 'warning', 'info'] as const;

/** Shows the types of events that the user receives of one vehicle. */
export function VehicleNotifications() {
  const { t } = useTranslation('profile');
  const vehicles = useVehicles();
  const [vehicleId, setVehicleId] = useState<number | null>(null);
  return (
    <section className="card" aria-label={t('notifications.types')}>
      <Title order={2} size="h4" mb="sm">
        {t('notifications.types')}
      </Title>
      <Text c="dimmed" mb="sm">
        {t('notifications.typesHint')}
      </Text>
      <Select
        label={t('notifications.vehicle')}
        data={(vehicles.data ?? []).map(({ id, vehicle_no: label }) => ({ value: String(id), label }))}
        value={vehicleId === null ? null : String(vehicleId)}
        onChange={(value) => setVehicleId(value === null ? null : Number(value))}
        searchable
        limit={50}
        maw={360}
        mb="md"
      />
      {vehicleId === null ? null : <TypeChoice key={vehicleId} vehicleId={vehicleId} />}
    </section>
  );
}

function TypeChoice({ vehicleId }: { vehicleId: number }) {
  const { t } = useTranslation('profile');
  const { api } = useSession();
  const queries = useQueryClient();
  const types = useNotificationTypes();
  const params = { path: { vehicleId } };
  const stored = useQuery({
    queryKey: ['getVehiclePreferences', vehicleId],
    queryFn: async () =>
      (await api.GET('/api/notifications/vehicle-preferences/{vehicleId}', { params })).data?.data.notification_types ??
      [],
  });
  const [changed, setChanged] = useState<string[] | null>(null);
  const save = useMutation({
    mutationFn: (notification_types: string[]) =>
      api.POST('/api/notifications/update-preferences/{vehicleId}', { params, body: { notification_types } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['getVehiclePreferences', vehicleId] }),
  });
  if (stored.isPending || types.isPending) return <Loading />;
  if (stored.isError) return <Failure error={stored.error} onRetry={() => void stored.refetch()} />;
  const chosen = changed ?? stored.data;
  return (
    <Stack>
      {save.isError ? <Failure error={save.error} /> : null}
      <Checkbox.Group value={chosen} onChange={setChanged}>
        <Stack>
          {severities.map((severity) => (
            <Fieldset key={severity} legend={t(`common:severity.${severity}`)}>
              <Group gap="sm 24px">
                {types.data
                  ?.filter((type) => type.severity === severity)
                  .map(({ type, title }) => (
                    <Checkbox key={type} value={type} label={title} />
                  ))}
              </Group>
            </Fieldset>
          ))}
        </Stack>
      </Checkbox.Group>
      <Group>
        <Button loading={save.isPending} onClick={() => save.mutate(chosen)}>
          {t('common:action.save')}
        </Button>
        <Text role="status" size="sm">
          {save.isSuccess ? t('preferences.saved') : ''}
        </Text>
      </Group>
    </Stack>
  );
}
