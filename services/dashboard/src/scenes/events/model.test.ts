import { describe, expect, it } from '@jest/globals';
import type { EventRecord } from '../../common/events/event-record.ts';
import { foldEvents, mayBelong } from './model.ts';

const minuteMs = 60_000;
const event = (id: number, minute: number, more: Partial<EventRecord> = {}): EventRecord =>
  ({ id, timestamp: minute * minuteMs, vehicle_id: 1, notification_type: 'sos', ...more }) as EventRecord;

describe('the rows of the inbox', () => {
  it('fold events of one vehicle and type that follow within ten minutes', () => {
    const events = [event(5, 30), event(4, 28, { vehicle_id: 2 }), event(3, 21), event(2, 12), event(1, 1)];
    expect(foldEvents(events).map((row) => row.events.map(({ id }) => id))).toEqual([[5, 3, 2], [4], [1]]);
  });

  it('keep different types apart', () => {
    const events = [event(2, 2, { notification_type: 'overspeed' }), event(1, 1)];
    expect(foldEvents(events)).toHaveLength(2);
  });
});

describe('a new event', () => {
  const created = event(9, 9, { severity: 'critical', acknowledged_at: null });

  it('belongs to lists whose filters it matches', () => {
    expect(mayBelong(created, {})).toBe(true);
    expect(mayBelong(created, { severity: 'critical', type: 'sos', vehicle: 1 })).toBe(true);
  });

  it.each([
    { severity: 'info' },
    { type: 'overspeed' },
    { vehicle: 2 },
    { status: 'acknowledged' },
    { to: '2026-01-01' },
  ] as const)('does not belong to the list %j', (search) => {
    expect(mayBelong(created, search)).toBe(false);
  });
});
