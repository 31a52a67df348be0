import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useDrivers, useGroups } from '../../common/fleet/queries.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useFormat } from '../../common/format/preferences-context.ts';
import { useLivePositions } from '../../common/live/live-context.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import { Age } from '../../common/ui/age.tsx';
import type { Column } from '../../common/ui/data-table.tsx';
import { StateMark } from '../../common/ui/marks.tsx';
import type { ColumnName } from './search.ts';

/** Returns all columns of the vehicle table. Positions and states are live. */
export function useVehicleColumns(): readonly (Column<Vehicle> & { readonly id: ColumnName })[] {
  const { t } = useTranslation('vehicles');
  const format = useFormat();
  const positions = useLivePositions();
  const drivers = new Map(useDrivers().data?.map(({ id, name }) => [id, name]));
  const groups = new Map(useGroups().data?.map(({ id, name }) => [id, name]));
  const stateOf = (vehicle: Vehicle) => positions.get(vehicle.id)?.state ?? vehicle.state;
  const fixOf = ({ id, location }: Vehicle) => positions.get(id)?.timestamp ?? location?.timestamp ?? null;
  const driverOf = ({ driver_id: id }: Vehicle) => (id === null ? null : (drivers.get(id) ?? null));
  const groupsOf = (vehicle: Vehicle) => vehicle.group_ids.flatMap((id) => groups.get(id) ?? []).join(', ');
  const speedOf = ({ id, location }: Vehicle) => positions.get(id)?.speed ?? location?.speed ?? null;
  const text = (id: ColumnName, value: (vehicle: Vehicle) => string | null) => ({
    id,
    label: t(`column.${id}`),
    render: (vehicle: Vehicle) => value(vehicle) ?? '–',
    sortValue: value,
  });
  return [
    {
      id: 'state',
      label: t('column.state'),
      sortValue: (vehicle) => vehicleStates.indexOf(stateOf(vehicle)),
      render: (vehicle) => {
        const state = stateOf(vehicle);
        return (
          <>
            <StateMark state={state} course={positions.get(vehicle.id)?.course ?? 0} /> {t(`common:state.${state}`)}
          </>
        );
      },
    },
    {
      id: 'number',
      label: t('column.number'),
      sortValue: (vehicle) => vehicle.vehicle_no,
      render: (vehicle) => (
        <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(vehicle.id) }}>
          {vehicle.vehicle_no}
        </Link>
      ),
    },
    text('name', (vehicle) => vehicle.name),
    text('type', (vehicle) => t(`type.${vehicle.vehicle_type}`)),
    {
      ...text('driver', driverOf),
      render: (vehicle) => {
        const name = driverOf(vehicle);
        if (name === null) return '–';
        return (
          <Link to="/drivers/$driverId" params={{ driverId: String(vehicle.driver_id) }}>
            {name}
          </Link>
        );
      },
    },
    text('groups', groupsOf),
    {
      id: 'lastFix',
      label: t('column.lastFix'),
      sortValue: fixOf,
      render: (vehicle) => {
        const timeMs = fixOf(vehicle);
        return timeMs === null ? '–' : <Age timeMs={timeMs} />;
      },
    },
    {
      id: 'speed',
      label: t('column.speed'),
      sortValue: speedOf,
      render: (vehicle) => {
        const speed = speedOf(vehicle);
        return speed === null ? '–' : format.speed(speed);
      },
    },
    {
      id: 'odometer',
      label: t('column.odometer'),
      sortValue: (vehicle) => vehicle.odometer_km,
      render: (vehicle) => format.distance(vehicle.odometer_km),
    },
    text('terminal', (vehicle) => vehicle.imei),
    text('model', ({ device }) => [device?.manufacturer, device?.model].filter(Boolean).join(' ') || null),
  ];
}
