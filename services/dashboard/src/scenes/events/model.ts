import type { EventRecord } from '../../common/events/event-record.ts';
import type { EventsSearch } from './search.ts';

/** Events of one vehicle and type that follow each other within ten minutes, as one row. */
export interface EventRow {
  /** The newest event. */
  readonly event: EventRecord;
  /** All events, the newest first. */
  readonly events: readonly EventRecord[];
}

const foldMs = 10 * 60_000;

/** Folds events of a list, the newest first, to rows. */
export function foldEvents(events: readonly EventRecord[]): EventRow[] {
  const rows: { event: EventRecord; events: EventRecord[] }[] = [];
  const newest = new Map<string, { event: EventRecord; events: EventRecord[] }>();
  for (const event of events) {
    const key = `${event.vehicle_id}:${event.notification_type}`;
    const row = newest.get(key);
    const last = row?.events.at(-1);
    if (row !== undefined && last !== undefined && last.timestamp - event.timestamp <= foldMs) row.events.push(event);
    else {
      const added = { event, events: [event] };
      rows.push(added);
      newest.set(key, added);
    }
  }
  return rows;
}

export const isOpen = ({ acknowledged_at: acknowledgedAt }: Pick<EventRecord, 'acknowledged_at'>): boolean =>
  acknowledgedAt === null;

/** A notification of the websocket. */
export type LiveNotification = Pick<
  EventRecord,
  'id' | 'vehicle_id' | 'severity' | 'notification_type' | 'acknowledged_at' | 'acknowledged_by' | 'attributes'
>;

/** Returns whether a new event may belong to the list. Groups, text and times are left to the server. */
export function mayBelong(event: LiveNotification, { status, severity, type, vehicle, to }: EventsSearch): boolean {
  if (status === 'acknowledged' || to !== undefined) return false;
  return (
    (severity === undefined || event.severity === severity) &&
    (type === undefined || event.notification_type === type) &&
    (vehicle === undefined || event.vehicle_id === vehicle)
  );
}

/** Returns a number attribute of an event, such as `channel`. */
export function readNumber({ attributes }: Pick<EventRecord, 'attributes'>, name: string): number | undefined {
  const value = attributes[name];
  return typeof value === 'number' ? value : undefined;
}

/** Returns a text attribute of an event, such as `acknowledge_note`. */
export function readText({ attributes }: Pick<EventRecord, 'attributes'>, name: string): string | undefined {
  const value = attributes[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}
