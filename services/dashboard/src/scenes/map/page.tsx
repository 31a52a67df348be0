import { Button, TextInput } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { getRouteApi } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useVehicles } from '../../common/fleet/queries.ts';
import { useLivePositions } from '../../common/live/live-context.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import { MapView } from '../../common/map/map-view.tsx';
import { StateMark } from '../../common/ui/marks.tsx';
import { Failure, Loading } from '../../common/ui/states.tsx';
import { countStates, filterRows, toRows, type VehicleRow } from './model.ts';
import { VehicleList } from './parts/vehicle-list.tsx';
import { VehiclePanel } from './parts/vehicle-panel.tsx';
import type { MapSearch } from './search.ts';
import './map.css';

const route = getRouteApi('/app/map');

/** The live map: every visible vehicle, a list with filters, and a panel for the selected one. */
export function MapPage() {
  const { t } = useTranslation('map');
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const vehicles = useVehicles();
  const positions = useLivePositions();
  const rows = toRows(vehicles.data ?? [], positions);
  const visible = filterRows(rows, { state: search.state, query: search.q });
  const marks = useMapVehicles(visible);
  const change = (next: Partial<Record<keyof MapSearch, unknown>>): void =>
    void navigate({ search: (before) => ({ ...before, ...next }) as MapSearch, replace: true });
  if (vehicles.isPending) return <Loading />;
  if (vehicles.isError) return <Failure error={vehicles.error} onRetry={() => void vehicles.refetch()} />;
  const selected = rows.find(({ id }) => id === search.vehicle);
  return (
    <div className="map-page">
      <h1 className="visually-hidden">{t('title')}</h1>
      <aside className="map-side">
        <TextInput
          aria-label={t('search')}
          placeholder={t('search')}
          value={search.q ?? ''}
          onChange={({ currentTarget }) => change({ q: currentTarget.value === '' ? undefined : currentTarget.value })}
        />
        <Counters rows={rows} selected={search.state} onChange={(state) => change({ state })} />
        <VehicleList rows={visible} selectedId={search.vehicle} onSelect={(vehicle) => change({ vehicle })} />
      </aside>
      <MapView
        vehicles={marks}
        selectedId={search.vehicle}
        isFollowing={search.follow === true}
        onSelect={(vehicle) => change({ vehicle })}
      />
      {selected === undefined ? null : (
        <VehiclePanel
          row={selected}
          isFollowing={search.follow === true}
          onFollow={(isFollowing) => change({ follow: isFollowing ? true : undefined })}
          onClose={() => change({ vehicle: undefined, follow: undefined })}
        />
      )}
    </div>
  );
}

/** Returns the marks of rows with a position; the same array while nothing changed. */
function useMapVehicles(rows: readonly VehicleRow[]) {
  const marks = rows.flatMap(({ id, name, state, position }) =>
    position === undefined ? [] : [{ ...position, id, label: name, state }],
  );
  const key = marks.map(({ id, timestamp, state }) => `${id}:${timestamp}:${state}`).join();
  // The map re-indexes every mark for a new array.
  return useMemo(() => marks, [key]);
}

interface CountersProps {
  readonly rows: readonly VehicleRow[];
  readonly selected: MapSearch['state'];
  readonly onChange: (state: MapSearch['state']) => void;
}

/** Numbers of vehicles in each state, which filter the list. */
function Counters({ rows, selected, onChange }: CountersProps) {
  const { t } = useTranslation();
  const counts = countStates(rows);
  return (
    <div className="map-counters" role="group" aria-label={t('map:filter')}>
      {vehicleStates
        .filter((state) => counts[state] > 0 || state === selected)
        .map((state) => (
          <Button
            key={state}
            size="compact-xs"
            variant={state === selected ? 'filled' : 'default'}
            leftSection={<StateMark state={state} size={12} />}
            rightSection={state === selected ? <IconX size={12} aria-hidden /> : null}
            aria-pressed={state === selected}
            onClick={() => onChange(state === selected ? undefined : state)}
          >
            {t(`state.${state}`)} {counts[state]}
          </Button>
        ))}
    </div>
  );
}
