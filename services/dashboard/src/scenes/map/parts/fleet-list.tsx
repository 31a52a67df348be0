import { ActionIcon } from '@mantine/core';
import { IconChevronDown, IconChevronRight, IconFilter } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { NamedGroup } from '../../../common/fleet/folder-tree.ts';
import { useFormat, useNow } from '../../../common/format/preferences-context.ts';
import { useLiveStore } from '../../../common/live/live-context.ts';
import type { LiveVehicle } from '../../../common/live/live-store.ts';
import type { FleetView } from '../../../common/live/protocol.ts';
import { Age } from '../../../common/ui/age.tsx';
import { SeverityMark, StateMark } from '../../../common/ui/marks.tsx';

const rowHeight = 44;
const indentPx = 12;

interface FleetListProps {
  readonly view: FleetView;
  readonly groups: readonly NamedGroup[];
  readonly collapsedIds: readonly number[];
  readonly selectedId: number | undefined;
  /** Changes with the filters and the order. */
  readonly queryKey: string;
  readonly onCollapse: (ids: readonly number[]) => void;
  readonly onFilterGroup: (id: number) => void;
  readonly onSelect: (id: number) => void;
}

/** Shows folders and vehicles in one list that renders only the rows on screen. */
export function FleetList(props: FleetListProps) {
  const { t } = useTranslation('map');
  const scroller = useRef<HTMLDivElement>(null);
  const { rows, hold, release } = useSteadyRows(props.view, props.queryKey);
  const store = useLiveStore();
  const virtual = useVirtualizer({
    count: rows.length / 2,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 6,
  });
  const renderRow = (index: number): ReactNode => {
    const [slot = 0, depth = 0] = rows.subarray(index * 2, index * 2 + 2);
    if (slot < 0) return <GroupRow {...props} groupId={-slot} depth={depth} />;
    const vehicle = store.vehicleAt(slot);
    return vehicle === undefined ? null : <VehicleRow {...props} vehicle={vehicle} depth={depth} />;
  };
  return (
    <div ref={scroller} className="map-list" onMouseEnter={hold} onMouseLeave={release}>
      <ul style={{ height: virtual.getTotalSize() }} aria-label={t('list')}>
        {virtual.getVirtualItems().map(({ index, start, key }) => (
          <li key={key} style={{ transform: `translateY(${start}px)` }}>
            {renderRow(index)}
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Returns the rows of the list; while the pointer is over it, rows keep their places. */
function useSteadyRows(view: FleetView, queryKey: string) {
  const [isHeld, setHeld] = useState(false);
  const kept = useRef({ rows: view.rows, queryKey });
  if (!isHeld || kept.current.queryKey !== queryKey || view.rows.length !== kept.current.rows.length)
    kept.current = { rows: view.rows, queryKey };
  return { rows: kept.current.rows, hold: () => setHeld(true), release: () => setHeld(false) };
}

interface VehicleRowProps extends FleetListProps {
  readonly vehicle: LiveVehicle;
  readonly depth: number;
}

/** Shows state, name, value and age of a vehicle. */
function VehicleRow({ vehicle, depth, selectedId, onSelect }: VehicleRowProps) {
  const { t } = useTranslation();
  const { id, name, vehicleNo, state, position, severity } = vehicle;
  return (
    <button
      type="button"
      className="map-row"
      style={{ paddingLeft: 8 + depth * indentPx }}
      aria-pressed={id === selectedId}
      onClick={() => onSelect(id)}
    >
      <StateMark state={state} course={position?.course ?? 0} />
      <span className="map-list-name">
        <strong>{name}</strong>
        <small>{vehicleNo}</small>
      </span>
      {severity === 'critical' ? <SeverityMark severity="critical" label={t('map:alarm')} /> : null}
      <span className="map-list-value">
        <StateValue vehicle={vehicle} />
        <small>{position === null ? '–' : <Age timeMs={position.timestamp} />}</small>
      </span>
    </button>
  );
}

/** Shows the speed of a moving vehicle; of others the state with the time since it began. */
function StateValue({ vehicle: { state, position, sinceMs } }: { vehicle: LiveVehicle }) {
  const { t } = useTranslation();
  const format = useFormat();
  const nowMs = useNow();
  if (state === 'moving' && position !== null) return <span>{format.speed(position.speed)}</span>;
  return (
    <span>
      {t(`state.${state}`)}
      {sinceMs === null ? '' : ` ${format.age(sinceMs, nowMs)}`}
    </span>
  );
}

interface GroupRowProps extends FleetListProps {
  readonly groupId: number;
  readonly depth: number;
}

/** Shows a folder with its number of vehicles, which opens, closes and filters. */
function GroupRow({ groupId, depth, groups, view, collapsedIds, onCollapse, onFilterGroup }: GroupRowProps) {
  const { t } = useTranslation('map');
  const name = groups.find(({ id }) => id === groupId)?.name ?? '';
  const isCollapsed = collapsedIds.includes(groupId);
  const toggle = (): void =>
    onCollapse(isCollapsed ? collapsedIds.filter((id) => id !== groupId) : [...collapsedIds, groupId]);
  return (
    <div className="map-folder" style={{ paddingLeft: depth * indentPx }}>
      <button type="button" className="map-row" aria-expanded={!isCollapsed} onClick={toggle}>
        {isCollapsed ? <IconChevronRight size={16} aria-hidden /> : <IconChevronDown size={16} aria-hidden />}
        <span className="map-list-name">
          <strong>{name}</strong>
        </span>
        <span>{findCount(view.groupCounts, groupId)}</span>
      </button>
      <ActionIcon
        variant="subtle"
        size="md"
        aria-label={t('onlyGroup', { name })}
        onClick={() => onFilterGroup(groupId)}
      >
        <IconFilter size={14} aria-hidden />
      </ActionIcon>
    </div>
  );
}

function findCount(groupCounts: Int32Array, groupId: number): number {
  for (let at = 0; at < groupCounts.length; at += 2) if (groupCounts[at] === groupId) return groupCounts[at + 1] ?? 0;
  return 0;
}
