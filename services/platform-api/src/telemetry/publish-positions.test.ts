import { type Bus, decodeJson, type LiveEvent } from '@fleet/bus';
import { describe, expect, it } from '@jest/globals';
import { testPosition } from '../testing/positions.ts';
import { defaultThresholds } from '../testing/thresholds.ts';
import type { VehicleUpdate } from './evaluate-batch.ts';
import { publishPositions } from './publish-positions.ts';

const nowMs = Date.parse('2026-11-22T10:00:00Z');
const minuteMs = 60_000;
const imei = '13800138000';

/** Returns a report received the given minutes ago. */
const at = (minutesAgo: number, speed: number) => {
  const atMs = nowMs - minutesAgo * minuteMs;
  return testPosition(imei, { timestamp: atMs, serverTimestamp: atMs, slowSinceMs: null, speed });
};
const moved = (before: ReturnType<typeof at> | null, after: ReturnType<typeof at>): VehicleUpdate =>
  ({
    known: { imei, vehicle: { _id: 7, accountId: 1, driverId: null } },
    before: before && { location: before },
    state: { location: after },
  }) as unknown as VehicleUpdate;

/** Returns the published events, and the end of a silence. */
function published(each: VehicleUpdate) {
  const events: LiveEvent[] = [];
  const nc = {
    isClosed: () => false,
    publish: (_subject: string, body: Uint8Array) => {
      events.push(...(decodeJson(body) as { events: LiveEvent[] }).events);
    },
  };
  const returned = publishPositions({ nc, isUp: () => true } as unknown as Bus, [each], defaultThresholds, nowMs);
  const statuses = events.filter(({ type }) => type === 'status').map(({ data }) => data);
  return {
    locations: events.filter(({ type }) => type === 'location').length,
    changes: statuses.map(({ previous_state: from, state: to }) => [from, to]),
    returnedMs: returned.get(imei),
  };
}

describe('live events of a report', () => {
  it('contain its position, and the state if it has changed', () => {
    expect(published(moved(at(1, 50), at(0, 50)))).toEqual({ locations: 1, changes: [], returnedMs: undefined });
    const changes = [['moving', 'stopped']];
    expect(published(moved(at(1, 50), at(0, 0)))).toEqual({ locations: 1, changes, returnedMs: undefined });
  });

  it.each([
    ['the first report', null],
    ['the first report after ten minutes', at(11, 50)],
  ])('contain only the position for %s, which ends a silence', (_case, before) => {
    expect(published(moved(before, at(0, 50)))).toEqual({ locations: 1, changes: [], returnedMs: nowMs });
  });

  it('end no silence if the report is processed long after it was sent', () => {
    expect(published(moved(at(31, 50), at(30, 50)))).toEqual({ locations: 1, changes: [], returnedMs: undefined });
  });

  it('are absent if the report does not change the present', () => {
    const location = at(5, 50);
    expect(published(moved(location, location))).toEqual({ locations: 0, changes: [], returnedMs: undefined });
  });
});
