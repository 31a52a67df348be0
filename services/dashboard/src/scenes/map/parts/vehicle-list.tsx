import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { Age } from '../../../common/ui/age.tsx';
import { StateMark } from '../../../common/ui/marks.tsx';
import { Empty } from '../../../common/ui/states.tsx';
import type { VehicleRow } from '../model.ts';

const rowHeight = 44;

interface VehicleListProps {
  readonly rows: readonly VehicleRow[];
  readonly selectedId: number | undefined;
  readonly onSelect: (id: number) => void;
}

/** A list that renders only the rows on screen. Every row shows state, value and age. */
export function VehicleList({ rows, selectedId, onSelect }: VehicleListProps) {
  const { t } = useTranslation('map');
  const scroller = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  if (rows.length === 0) return <Empty title={t('noVehicles')} />;
  return (
    <div ref={scroller} className="map-list">
      <ul style={{ height: virtual.getTotalSize() }} aria-label={t('list')}>
        {virtual.getVirtualItems().map(({ index, start }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <li key={row.id} style={{ transform: `translateY(${start}px)` }}>
              <button type="button" aria-pressed={row.id === selectedId} onClick={() => onSelect(row.id)}>
                <Row row={row} />
              </button>
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function Row({ row: { name, vehicleNo, state, position } }: { row: VehicleRow }) {
  const { t } = useTranslation();
  const format = useFormat();
  return (
    <>
      <StateMark state={state} course={position?.course ?? 0} />
      <span className="map-list-name">
        <strong>{name}</strong>
        <small>{vehicleNo}</small>
      </span>
      <span className="map-list-value">
        <span>{state === 'moving' && position !== undefined ? format.speed(position.speed) : t(`state.${state}`)}</span>
        <small>{position === undefined ? '–' : <Age timeMs={position.timestamp} />}</small>
      </span>
    </>
  );
}
