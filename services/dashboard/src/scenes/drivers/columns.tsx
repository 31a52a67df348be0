import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import type { Driver } from '../../common/fleet/vehicle.ts';
import type { Column } from '../../common/ui/data-table.tsx';
import { LicenceEnd } from './parts/licence-end.tsx';

/** Returns the columns of the drivers' table. */
export function useDriverColumns(): readonly Column<Driver>[] {
  const { t } = useTranslation('drivers');
  const { data: vehicles = [] } = useVehicles();
  const numbers = new Map(vehicles.map(({ id, vehicle_no: number }) => [id, number]));
  const numbersOf = ({ vehicle_ids: ids }: Driver): string => ids.flatMap((id) => numbers.get(id) ?? []).join(', ');
  return [
    {
      id: 'name',
      label: t('field.name'),
      sortValue: ({ name }) => name,
      render: ({ id, name }) => (
        <Link to="/drivers/$driverId" params={{ driverId: String(id) }}>
          {name}
        </Link>
      ),
    },
    {
      id: 'status',
      label: t('field.status'),
      sortValue: ({ status }) => status,
      render: ({ status }) => t(`status.${status}`),
    },
    {
      id: 'phone',
      label: t('field.phone_number'),
      sortValue: ({ phone_number: phone }) => phone,
      render: ({ phone_number: phone }) => phone ?? '–',
    },
    {
      id: 'licence',
      label: t('field.license_number'),
      sortValue: ({ license_number: number }) => number,
      render: ({ license_number: number }) => number ?? '–',
    },
    {
      id: 'expiry',
      label: t('field.license_expiry_date'),
      sortValue: ({ license_expiry_date: date }) => date,
      render: (driver) => <LicenceEnd driver={driver} />,
    },
    {
      id: 'vehicles',
      label: t('vehicles'),
      sortValue: (driver) => numbersOf(driver) || null,
      render: ({ vehicle_ids: ids }) =>
        ids.length === 0
          ? '–'
          : ids.map((id, index) => (
              <span key={id}>
                {index === 0 ? '' : ', '}
                <Link to="/vehicles/$vehicleId" params={{ vehicleId: String(id) }}>
                  {numbers.get(id) ?? id}
                </Link>
              </span>
            )),
    },
  ];
}
