import { Button, Group, NativeSelect, TextInput } from '@mantine/core';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatCsv } from '../../common/csv/csv.ts';
import { downloadText } from '../../common/csv/download-text.ts';
import { useDrivers, useVehicles } from '../../common/fleet/queries.ts';
import type { Driver } from '../../common/fleet/vehicle.ts';
import { useCan } from '../../common/session/session-context.ts';
import { DataTable, sortRows } from '../../common/ui/data-table.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { useDriverColumns } from './columns.tsx';
import { findDrivers, toCsvRows } from './list.ts';
import { AddDriver } from './parts/add-driver.tsx';
import { type DriversSearch, parseDriversSearch } from './search.ts';
import './drivers.css';

const route = getRouteApi('/app/drivers');

/** Lists all drivers of the account as a table. Filters and sorting are in the address. */
export function DriversPage() {
  const { t } = useTranslation('drivers');
  const can = useCan();
  const navigate = useNavigate();
  const drivers = useDrivers();
  const { data: vehicles = [] } = useVehicles();
  const search = route.useSearch();
  const columns = useDriverColumns();
  const [isAdding, setIsAdding] = useState(false);
  if (drivers.isPending) return <Loading />;
  if (drivers.isError) return <Failure error={drivers.error} onRetry={() => void drivers.refetch()} />;
  const found = findDrivers(drivers.data, search);
  const isEmpty = drivers.data.length === 0;
  const change = (next: DriversSearch): void => void navigate({ to: '/drivers', search: next, replace: true });
  const exportCsv = (): void => {
    const numbers = new Map(vehicles.map(({ id, vehicle_no: number }) => [id, number]));
    const rows = sortRows(found, columns, search.sort ?? 'name');
    downloadText('drivers.csv', formatCsv(toCsvRows(rows, numbers)));
  };
  return (
    <div className="page">
      <Group justify="space-between" mb="md">
        <h1>{t('title', { count: drivers.data.length })}</h1>
        <Group gap="sm">
          <Button variant="default" disabled={isEmpty} onClick={exportCsv}>
            {t('export')}
          </Button>
          {can('fleet') ? <Button onClick={() => setIsAdding(true)}>{t('add')}</Button> : null}
        </Group>
      </Group>
      {isEmpty ? (
        <Empty title={t('empty')}>
          <p>{t('emptyText')}</p>
          {can('fleet') ? <Button onClick={() => setIsAdding(true)}>{t('addFirst')}</Button> : null}
        </Empty>
      ) : (
        <>
          <Filters search={search} onChange={change} />
          <FoundDrivers drivers={found} search={search} onChange={change} />
        </>
      )}
      {isAdding ? (
        <AddDriver
          onClose={() => setIsAdding(false)}
          onAdded={({ id }) => void navigate({ to: '/drivers/$driverId', params: { driverId: String(id) } })}
        />
      ) : null}
    </div>
  );
}

interface FiltersProps {
  readonly search: DriversSearch;
  readonly onChange: (search: DriversSearch) => void;
}

function Filters({ search, onChange }: FiltersProps) {
  const { t } = useTranslation('drivers');
  const set = (part: Record<string, unknown>): void => onChange(parseDriversSearch({ ...search, ...part }));
  return (
    <Group gap="sm" mb="sm">
      <TextInput
        type="search"
        aria-label={t('search')}
        placeholder={t('search')}
        value={search.q ?? ''}
        onChange={({ currentTarget }) => set({ q: currentTarget.value })}
      />
      <NativeSelect
        aria-label={t('field.status')}
        data={[
          { value: '', label: t('allStatuses') },
          { value: 'active', label: t('status.active') },
          { value: 'inactive', label: t('status.inactive') },
        ]}
        value={search.status ?? ''}
        onChange={({ currentTarget }) => set({ status: currentTarget.value })}
      />
    </Group>
  );
}

function FoundDrivers({ drivers, search, onChange }: FiltersProps & { readonly drivers: readonly Driver[] }) {
  const { t } = useTranslation('drivers');
  const columns = useDriverColumns();
  if (drivers.length === 0)
    return (
      <Empty title={t('noMatch')}>
        <Button variant="default" onClick={() => onChange({})}>
          {t('clearFilters')}
        </Button>
      </Empty>
    );
  return (
    <DataTable
      label={t('table')}
      columns={columns}
      rows={drivers}
      getId={({ id }) => id}
      sorting={search.sort ?? 'name'}
      onSort={(sort) => onChange({ ...search, sort })}
    />
  );
}
