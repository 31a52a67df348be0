import { Button, Group, TextInput } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import { useFormat } from '../../common/format/preferences-context.ts';
import { useLivePositions } from '../../common/live/live-context.ts';
import { useCan } from '../../common/session/session-context.ts';
import { Age } from '../../common/ui/age.tsx';
import { StateMark } from '../../common/ui/marks.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { AddVehicle } from './parts/add-vehicle.tsx';

const maxRows = 200;

/** All visible vehicles as a table. */
export function VehiclesPage() {
  const { t } = useTranslation('vehicles');
  const can = useCan();
  const vehicles = useVehicles();
  const [query, setQuery] = useState('');
  const [isAdding, setIsAdding] = useState(false);
  if (vehicles.isPending) return <Loading />;
  if (vehicles.isError) return <Failure error={vehicles.error} onRetry={() => void vehicles.refetch()} />;
  const wanted = query.toLowerCase();
  const found = vehicles.data.filter(({ name, vehicle_no: no }) => `${name} ${no}`.toLowerCase().includes(wanted));
  return (
    <div className="page">
      <Group justify="space-between" mb="md">
        <h1>{t('title', { count: vehicles.data.length })}</h1>
        <Group gap="sm">
          <TextInput
            aria-label={t('search')}
            placeholder={t('search')}
            value={query}
            onChange={({ currentTarget }) => setQuery(currentTarget.value)}
          />
          {can('fleet') ? <Button onClick={() => setIsAdding(true)}>{t('add')}</Button> : null}
        </Group>
      </Group>
      {found.length === 0 ? (
        <Empty title={t(vehicles.data.length === 0 ? 'empty' : 'noMatch')} />
      ) : (
        <VehicleTable vehicles={found.slice(0, maxRows)} />
      )}
      {found.length > maxRows ? <p>{t('more', { count: found.length - maxRows })}</p> : null}
      <AddVehicle isOpen={isAdding} onClose={() => setIsAdding(false)} />
    </div>
  );
}

function VehicleTable({ vehicles }: { vehicles: NonNullable<ReturnType<typeof useVehicles>['data']> }) {
  const { t } = useTranslation('vehicles');
  const format = useFormat();
  const positions = useLivePositions();
  return (
    <div className="table-scroll">
      <table className="data">
        <thead>
          <tr>
            {(['state', 'number', 'name', 'type', 'lastFix', 'odometer', 'terminal'] as const).map((column) => (
              <th key={column}>{t(`column.${column}`)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {vehicles.map((vehicle) => {
            const position = positions.get(vehicle.id);
            const state = position?.state ?? vehicle.state;
            const lastFix = position?.timestamp ?? vehicle.location?.timestamp;
            return (
              <tr key={vehicle.id}>
                <td>
                  <StateMark state={state} course={position?.course ?? 0} /> {t(`common:state.${state}`)}
                </td>
                <td>
                  <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(vehicle.id) }}>
                    {vehicle.vehicle_no}
                  </Link>
                </td>
                <td>{vehicle.name}</td>
                <td>{t(`type.${vehicle.vehicle_type}`)}</td>
                <td>{lastFix === undefined ? '–' : <Age timeMs={lastFix} />}</td>
                <td>{format.distance(vehicle.odometer_km)}</td>
                <td>{vehicle.imei ?? '–'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
