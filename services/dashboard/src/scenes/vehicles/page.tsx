import { Button, Group } from '@mantine/core';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { formatCsv } from '../../common/csv/csv.ts';
import { downloadText } from '../../common/csv/download-text.ts';
import { useDrivers, useGroups, useVehicles } from '../../common/fleet/queries.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { useLivePositions } from '../../common/live/live-context.ts';
import { useCan } from '../../common/session/session-context.ts';
import { AddVehicle } from '../../common/terminals/add-vehicle.tsx';
import { FindTerminal } from '../../common/terminals/find-terminal.tsx';
import { DataTable } from '../../common/ui/data-table.tsx';
import { Empty, Failure, Loading } from '../../common/ui/states.tsx';
import { useVehicleColumns } from './columns.tsx';
import { toCsvRows } from './csv-model.ts';
import { BulkBar } from './parts/bulk-bar.tsx';
import { ImportDialog } from './parts/import-dialog.tsx';
import { Toolbar } from './parts/toolbar.tsx';
import { defaultColumns, parseColumns, type VehiclesSearch } from './search.ts';

const route = getRouteApi('/app/vehicles');

type Dialog = { readonly kind: 'add'; readonly imei: string } | { readonly kind: 'import' } | { readonly kind: 'find' };

/** Shows all visible vehicles as a table. Filters, sorting and columns are in the address. */
export function VehiclesPage() {
  const { t } = useTranslation('vehicles');
  const can = useCan();
  const vehicles = useVehicles();
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const names = { drivers: useDrivers().data ?? [], groups: useGroups().data ?? [] };
  const [dialog, setDialog] = useState<Dialog | null>(null);
  const found = useFound(vehicles.data ?? [], search, names.groups);
  if (vehicles.isPending) return <Loading />;
  if (vehicles.isError) return <Failure error={vehicles.error} onRetry={() => void vehicles.refetch()} />;
  const change = (next: VehiclesSearch): void => void navigate({ search: next, replace: true });
  const isEmpty = vehicles.data.length === 0;
  return (
    <div className="page">
      <Group justify="space-between" mb="md">
        <h1>{t('title', { count: vehicles.data.length })}</h1>
        <Group gap="sm">
          <Button
            variant="default"
            disabled={isEmpty}
            onClick={() => downloadText('vehicles.csv', formatCsv(toCsvRows(found, names)))}
          >
            {t('export')}
          </Button>
          {can('fleet') ? (
            <>
              <Button variant="default" onClick={() => setDialog({ kind: 'import' })}>
                {t('import.button')}
              </Button>
              <Button onClick={() => setDialog({ kind: 'add', imei: '' })}>{t('add')}</Button>
            </>
          ) : null}
        </Group>
      </Group>
      {isEmpty ? (
        <Empty title={t('empty')}>
          <p>{t('emptyText')}</p>
          {can('fleet') ? (
            <Group>
              <Button onClick={() => setDialog({ kind: 'add', imei: '' })}>{t('addFirst')}</Button>
              <Button variant="default" onClick={() => setDialog({ kind: 'find' })}>
                {t('find.button')}
              </Button>
            </Group>
          ) : null}
        </Empty>
      ) : (
        <>
          <Toolbar search={search} onChange={change} names={names} />
          <FoundVehicles vehicles={found} search={search} onChange={change} />
        </>
      )}
      {dialog?.kind === 'add' ? <AddVehicle imei={dialog.imei} onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === 'import' ? <ImportDialog names={names} onClose={() => setDialog(null)} /> : null}
      {dialog?.kind === 'find' ? (
        <FindTerminal onFound={(imei) => setDialog({ kind: 'add', imei })} onClose={() => setDialog(null)} />
      ) : null}
    </div>
  );
}

/** Returns the vehicles that match the filters. A group includes the groups below it. */
function useFound(
  vehicles: readonly Vehicle[],
  { q = '', state, group, driver }: VehiclesSearch,
  groups: readonly { id: number; parent_group: number | null }[],
): readonly Vehicle[] {
  const positions = useLivePositions();
  const normalize = (value: string) => value.toLowerCase().replaceAll(/\s/g, '');
  const wanted = normalize(q);
  const below = new Set<number>(group === undefined ? [] : [group]);
  // Children follow their parents in at most as many rounds as there are levels.
  for (let size = 0; size !== below.size; ) {
    size = below.size;
    for (const { id, parent_group: parent } of groups) if (parent !== null && below.has(parent)) below.add(id);
  }
  return vehicles.filter(
    (vehicle) =>
      (wanted === '' || normalize(`${vehicle.vehicle_no} ${vehicle.name} ${vehicle.imei ?? ''}`).includes(wanted)) &&
      (state === undefined || (positions.get(vehicle.id)?.state ?? vehicle.state) === state) &&
      (group === undefined || vehicle.group_ids.some((id) => below.has(id))) &&
      (driver === undefined || vehicle.driver_id === driver),
  );
}

interface FoundVehiclesProps {
  readonly vehicles: readonly Vehicle[];
  readonly search: VehiclesSearch;
  readonly onChange: (search: VehiclesSearch) => void;
}

function FoundVehicles({ vehicles, search, onChange }: FoundVehiclesProps) {
  const { t } = useTranslation('vehicles');
  const can = useCan();
  const [selected, setSelected] = useState<ReadonlySet<number>>(new Set());
  const visible: ReadonlySet<string> = new Set(parseColumns(search.columns) ?? defaultColumns);
  const columns = useVehicleColumns().filter(({ id }) => visible.has(id));
  const chosen = vehicles.filter(({ id }) => selected.has(id));
  if (vehicles.length === 0)
    return (
      <Empty title={t('noMatch')}>
        <Button
          variant="default"
          onClick={() => onChange(search.columns === undefined ? {} : { columns: search.columns })}
        >
          {t('clearFilters')}
        </Button>
      </Empty>
    );
  return (
    <>
      <DataTable
        label={t('table')}
        columns={columns}
        rows={vehicles}
        getId={({ id }) => id}
        getName={(vehicle) => vehicle.vehicle_no}
        sorting={search.sort ?? 'number'}
        onSort={(sort) => onChange({ ...search, sort })}
        {...(can('fleet') ? { selection: { ids: selected, onChange: setSelected } } : {})}
      />
      {chosen.length > 0 ? <BulkBar vehicles={chosen} onDone={() => setSelected(new Set())} /> : null}
    </>
  );
}
