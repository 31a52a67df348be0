import { Checkbox } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { Age } from '../../../common/ui/age.tsx';
import { SeverityMark, toSeverity } from '../../../common/ui/marks.tsx';
import { type EventRow, isOpen } from '../model.ts';

interface EventListProps {
  readonly rows: readonly EventRow[];
  readonly selectedId: number | undefined;
  /** Ids of the events whose rows are checked. */
  readonly chosen: ReadonlySet<number>;
  readonly onToggle: (ids: readonly number[], isChosen: boolean) => void;
  readonly onOpen: (id: number) => void;
}

/** Shows the rows of the inbox, with check marks for the open ones. */
export function EventList({ rows, selectedId, chosen, onToggle, onOpen }: EventListProps) {
  const { t } = useTranslation('events');
  const openIds = rows.flatMap(({ events }) => events.filter(isOpen).map(({ id }) => id));
  const chosenCount = openIds.filter((id) => chosen.has(id)).length;
  if (rows.length === 0) return null;
  return (
    <>
      {openIds.length === 0 ? null : (
        <Checkbox
          size="xs"
          label={t('selectAll', { count: openIds.length })}
          checked={chosenCount === openIds.length}
          indeterminate={chosenCount > 0 && chosenCount < openIds.length}
          onChange={({ currentTarget }) => onToggle(openIds, currentTarget.checked)}
        />
      )}
      <ul aria-label={t('list')}>
        {rows.map((row) => (
          <li key={row.event.id} data-open={isOpen(row.event)}>
            <RowCheckbox row={row} chosen={chosen} onToggle={onToggle} />
            <button type="button" aria-pressed={row.event.id === selectedId} onClick={() => onOpen(row.event.id)}>
              <RowContent row={row} />
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function RowCheckbox({ row, chosen, onToggle }: { row: EventRow } & Pick<EventListProps, 'chosen' | 'onToggle'>) {
  const { t } = useTranslation('events');
  const ids = row.events.filter(isOpen).map(({ id }) => id);
  return (
    <Checkbox
      size="xs"
      aria-label={t('select', { title: row.event.title, vehicle: row.event.vehicle_no })}
      disabled={ids.length === 0}
      checked={ids.length > 0 && ids.every((id) => chosen.has(id))}
      onChange={({ currentTarget }) => onToggle(ids, currentTarget.checked)}
    />
  );
}

function RowContent({ row: { event, events } }: { row: EventRow }) {
  const { t } = useTranslation('events');
  const severity = toSeverity(event.severity);
  return (
    <>
      <SeverityMark severity={severity} label={t(`common:severity.${severity}`)} />
      <span className="events-row">
        <strong>
          {event.title}
          {events.length === 1 ? null : <span> ×{events.length}</span>}
        </strong>
        <small>
          {event.vehicle_no}
          {event.driver_name === null ? '' : `, ${event.driver_name}`}
        </small>
      </span>
      <small className="events-when">
        <Age timeMs={event.timestamp} />
        {isOpen(event) ? null : <span>✓ {event.acknowledged_by_name ?? t('acknowledged')}</span>}
      </small>
    </>
  );
}
