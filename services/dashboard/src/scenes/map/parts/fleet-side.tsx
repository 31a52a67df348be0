import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconAlertOctagon, IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import { fleetSorts, type StateFilter } from '../../../common/live/fleet-query.ts';
import { useVisibleSlots } from '../../../common/live/live-context.ts';
import { type FleetView, vehicleStates } from '../../../common/live/protocol.ts';
import { useCan } from '../../../common/session/session-context.ts';
import { StateMark } from '../../../common/ui/marks.tsx';
import { Empty, Loading } from '../../../common/ui/states.tsx';
import type { MapSearch } from '../search.ts';
import { FleetList } from './fleet-list.tsx';

interface FleetSideProps {
  readonly search: MapSearch;
  readonly groups: readonly NamedGroup[];
  readonly collapsedIds: readonly number[];
  readonly onCollapse: (ids: readonly number[]) => void;
  readonly onChange: (next: Partial<Record<keyof MapSearch, unknown>>) => void;
}

/** Shows search, counters and the list of folders and vehicles. */
export function FleetSide({ search, groups, collapsedIds, onCollapse, onChange }: FleetSideProps) {
  const { t } = useTranslation('map');
  const { view, hasLoaded } = useVisibleSlots();
  const group = groups.find(({ id }) => id === search.group);
  return (
    <>
      <TextInput
        data-search
        aria-label={t('search')}
        placeholder={t('search')}
        value={search.q ?? ''}
        onChange={({ currentTarget }) => onChange({ q: currentTarget.value === '' ? undefined : currentTarget.value })}
      />
      <Counters view={view} selected={search.state} onChange={(state) => onChange({ state })} />
      <div className="map-order">
        {search.group === undefined ? null : (
          <Button
            size="compact-xs"
            rightSection={<IconX size={12} aria-hidden />}
            aria-label={t('clearGroup', { name: group?.name ?? '' })}
            onClick={() => onChange({ group: undefined })}
          >
            {group?.name ?? search.group}
          </Button>
        )}
        <span role="status">{t('matched', { count: view.matchedCount })}</span>
        <NativeSelect
          size="xs"
          aria-label={t('sortBy')}
          value={search.sort ?? 'state'}
          data={fleetSorts.map((sort) => ({ value: sort, label: t(`sort.${sort}`) }))}
          onChange={({ currentTarget }) =>
            onChange({ sort: currentTarget.value === 'state' ? undefined : currentTarget.value })
          }
        />
      </div>
      {hasLoaded ? null : <Loading />}
      {hasLoaded && view.rows.length === 0 ? (
        <NoVehicles
          isFleetEmpty={view.totalCount === 0}
          onClear={() => onChange({ q: undefined, state: undefined, group: undefined })}
        />
      ) : (
        <FleetList
          view={view}
          groups={groups}
          collapsedIds={collapsedIds}
          selectedId={search.vehicle}
          queryKey={[search.q, search.state, search.group, search.sort, collapsedIds.join()].join('|')}
          onCollapse={onCollapse}
          onFilterGroup={(id) => onChange({ group: id })}
          onSelect={(vehicle) => onChange({ vehicle, follow: undefined })}
        />
      )}
    </>
  );
}

/** Says why the list is empty, with the next step. */
function NoVehicles({ isFleetEmpty, onClear }: { isFleetEmpty: boolean; onClear: () => void }) {
  const { t } = useTranslation('map');
  const can = useCan();
  if (!isFleetEmpty)
    return (
      <Empty title={t('noVehicles')}>
        <Button size="xs" variant="default" onClick={onClear}>
          {t('clearFilters')}
        </Button>
      </Empty>
    );
  return (
    <Empty title={t('emptyFleet')}>
      {can('fleet') ? (
        <Button size="xs" component={Link} to="/vehicles">
          {t('addVehicle')}
        </Button>
      ) : null}
    </Empty>
  );
}

interface CountersProps {
  readonly view: FleetView;
  readonly selected: MapSearch['state'];
  readonly onChange: (state: MapSearch['state']) => void;
}

/** Numbers of vehicles in each state and with an alarm, which filter the list and the map. */
function Counters({ view, selected, onChange }: CountersProps) {
  const { t } = useTranslation();
  const filters: readonly StateFilter[] = [...vehicleStates, 'alarm'];
  return (
    <div className="map-counters" role="group" aria-label={t('map:filter')}>
      {filters
        .map((state, index) => ({ state, count: view.counts[index] ?? 0 }))
        .filter(({ state, count }) => count > 0 || state === selected)
        .map(({ state, count }) => (
          <Button
            key={state}
            size="compact-xs"
            variant={state === selected ? 'filled' : 'default'}
            leftSection={
              state === 'alarm' ? <IconAlertOctagon size={14} aria-hidden /> : <StateMark state={state} size={12} />
            }
            rightSection={state === selected ? <IconX size={12} aria-hidden /> : null}
            aria-pressed={state === selected}
            onClick={() => onChange(state === selected ? undefined : state)}
          >
            {state === 'alarm' ? t('map:alarm') : t(`state.${state}`)} {count}
          </Button>
        ))}
    </div>
  );
}
