import { Button, Stack } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { isTypedName, TypedName } from '../../../common/forms/typed-name.tsx';
import { useSession } from '../../../common/session/session-context.ts';
import { Failure } from '../../../common/ui/states.tsx';

/** Deletes the vehicle after its number was typed. */
export function DeleteCard({ vehicle, onDeleted }: { vehicle: Vehicle; onDeleted: () => void }) {
  const { t } = useTranslation('vehicle');
  const { api } = useSession();
  const queries = useQueryClient();
  const [typed, setTyped] = useState('');
  const remove = useMutation({
    mutationFn: () =>
      api.DELETE('/api/vehicles/{vehicleId}', {
        params: { path: { vehicleId: vehicle.id }, header: { 'If-Match': `"${vehicle.version}"` } },
      }),
    onSuccess: async () => {
      onDeleted();
      queries.removeQueries({ queryKey: ['getVehicle', vehicle.id] });
      await queries.invalidateQueries({ queryKey: ['listVehicles'] });
    },
  });
  return (
    <section className="card" aria-label={t('settings.deleteTitle')}>
      <h2>{t('settings.deleteTitle')}</h2>
      <Stack gap="sm" maw={420}>
        <p>{t('settings.deleteText')}</p>
        {remove.isError ? <Failure error={remove.error} /> : null}
        <TypedName name={vehicle.vehicle_no} value={typed} onChange={setTyped} />
        <Button
          color="critical"
          disabled={!isTypedName(vehicle.vehicle_no, typed)}
          loading={remove.isPending}
          onClick={() => remove.mutate()}
        >
          {t('settings.delete')}
        </Button>
      </Stack>
    </section>
  );
}
