import { Button, Group, NativeSelect } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useDrivers, useVehicles } from '../../../common/fleet/queries.ts';
import type { Driver } from '../../../common/fleet/vehicle.ts';
import { isVersionMismatch } from '../../../common/forms/faults.ts';
import { useLivePositions } from '../../../common/live/live-context.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { StateMark } from '../../../common/ui/marks.tsx';
import { Failure } from '../../../common/ui/states.tsx';
import { useSaveDriver } from '../queries.ts';

/** Lists the vehicles of a driver, which can be assigned and removed. */
export function AssignedVehicles({ driver }: { driver: Driver }) {
  const { t } = useTranslation('drivers');
  const can = useCan();
  const { data: vehicles = [] } = useVehicles();
  const positions = useLivePositions();
  const { save, stored, discard } = useSaveDriver(driver.id);
  const assigned = vehicles.filter(({ id }) => driver.vehicle_ids.includes(id));
  const assign = (ids: readonly number[], version = driver.version): void =>
    save.mutate({ body: { vehicle_ids: ids }, version });
  return (
    <section className="card" aria-label={t('vehicles')}>
      <h2>{t('vehicles')}</h2>
      {assigned.length === 0 ? <p>{t('noVehicles')}</p> : null}
      <ul className="row-list" aria-label={t('vehicles')}>
        {assigned.map((vehicle) => {
          const state = positions.get(vehicle.id)?.state ?? vehicle.state;
          return (
            <li key={vehicle.id}>
              <StateMark state={state} course={positions.get(vehicle.id)?.course ?? 0} />
              <span>{t(`common:state.${state}`)}</span>
              <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(vehicle.id) }}>
                {vehicle.vehicle_no}
              </Link>
              {driver.current_vehicle_id === vehicle.id ? <small>{t('cardInserted')}</small> : null}
              {can('fleet') ? (
                <Button
                  size="compact-sm"
                  variant="default"
                  aria-label={t('removeOf', { number: vehicle.vehicle_no })}
                  disabled={save.isPending}
                  onClick={() => assign(driver.vehicle_ids.filter((id) => id !== vehicle.id))}
                >
                  {t('remove')}
                </Button>
              ) : null}
            </li>
          );
        })}
      </ul>
      {save.isError && !isVersionMismatch(save.error) ? <Failure error={save.error} /> : null}
      {stored === null ? null : (
        <Group role="alert">
          {t('changedElsewhere')}
          <Button
            size="compact-sm"
            variant="default"
            onClick={() => {
              discard();
              assign(save.variables?.body['vehicle_ids'] as readonly number[], stored.version);
            }}
          >
            {t('assignAnyway')}
          </Button>
        </Group>
      )}
      {can('fleet') ? (
        <AssignForm driver={driver} isSaving={save.isPending} onAssign={(id) => assign([...driver.vehicle_ids, id])} />
      ) : null}
    </section>
  );
}

interface AssignFormProps {
  readonly driver: Driver;
  readonly isSaving: boolean;
  readonly onAssign: (vehicleId: number) => void;
}

/** Chooses one of the account's own vehicles. A vehicle has one driver, so the choice names its present one. */
function AssignForm({ driver, isSaving, onAssign }: AssignFormProps) {
  const { t } = useTranslation('drivers');
  const { data: vehicles = [] } = useVehicles();
  const names = new Map(useDrivers().data?.map(({ id, name }) => [id, name]));
  const [value, setValue] = useState('');
  const free = vehicles.filter(({ id, access }) => access === 'owner' && !driver.vehicle_ids.includes(id));
  if (free.length === 0) return null;
  const labelOf = ({ vehicle_no: number, driver_id: id }: (typeof free)[number]): string => {
    const name = id === null ? undefined : names.get(id);
    return name === undefined ? number : t('vehicleOf', { number, name });
  };
  return (
    <Group align="flex-end" gap="sm" mt="sm">
      <NativeSelect
        label={t('assignLabel')}
        data={[
          { value: '', label: '–' },
          ...free.map((vehicle) => ({ value: String(vehicle.id), label: labelOf(vehicle) })),
        ]}
        value={value}
        onChange={({ currentTarget }) => setValue(currentTarget.value)}
      />
      <Button
        variant="default"
        disabled={value === ''}
        loading={isSaving}
        onClick={() => {
          onAssign(Number(value));
          setValue('');
        }}
      >
        {t('assign')}
      </Button>
    </Group>
  );
}
