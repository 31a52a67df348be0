import type { DeviceState } from '@fleet/storage';
import { describe, expect, it } from '@jest/globals';
import { lastLocationAt } from '../../testing/last-location.ts';
import { defaultThresholds } from '../../testing/thresholds.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { deriveLiveState, toCurrentLocation } from './live-states.ts';

const atMs = 1_795_280_000_000;
const minute = 60_000;
const device = (lastSeenMs: number): DeviceState => ({
  sessionId: 's',
  generation: 1,
  podId: 'p',
  phone: '013800138000',
  edition: '2013',
  onlineSinceMs: atMs - 60 * minute,
  lastSeenMs,
  remoteAddress: '127.0.0.1:1',
});
const location = (more: Partial<LastLocation> = {}): LastLocation => ({
  ...lastLocationAt('13800138000', 1, 2),
  ignition: true,
  slowSinceMs: atMs - 2 * minute,
  timestamp: atMs,
  serverTimestamp: atMs,
  ...more,
});

describe('state of a vehicle', () => {
  it.each([
    ['nothing was ever received', undefined, undefined, 'never_connected'],
    ['connected, no position yet', device(atMs), undefined, 'stopped'],
    ['connected, silent for eleven minutes', device(atMs - 11 * minute), undefined, 'offline'],
    ['old position, heartbeats since', device(atMs), location({ serverTimestamp: atMs - 11 * minute }), 'stopped'],
    ['old position, no session', undefined, location({ serverTimestamp: atMs - 11 * minute }), 'offline'],
    ['5 km/h', device(atMs), location({ speed: 5, slowSinceMs: null }), 'moving'],
    ['slow for two minutes, ignition on', device(atMs), location(), 'idle'],
    ['ignition off', device(atMs), location({ ignition: false }), 'stopped'],
  ] as const)('is derived from session and position: %s', (_case, session, position, state) => {
    expect(deriveLiveState(session, position, atMs, defaultThresholds).state).toBe(state);
  });

  it.each([
    [
      'offline since the last position',
      undefined,
      location({ serverTimestamp: atMs - 11 * minute }),
      atMs - 11 * minute,
    ],
    [
      'offline since the last heartbeat',
      device(atMs - 11 * minute),
      location({ serverTimestamp: atMs - 20 * minute }),
      atMs - 11 * minute,
    ],
    ['idle since it stopped', device(atMs), location(), atMs - 2 * minute],
    [
      'moving since its recorded change',
      device(atMs),
      location({ speed: 9, stateChange: { state: 'moving', atMs: 7 } }),
      7,
    ],
    ['stopped since its session began, with heartbeats only', device(atMs), undefined, atMs - 60 * minute],
    ['never connected', undefined, undefined, null],
  ] as const)('has the time since which it lasts: %s', (_case, session, position, since) => {
    expect(deriveLiveState(session, position, atMs, defaultThresholds).stateSinceMs).toBe(since);
  });

  it('has the number as the terminal sends it, and the position with the state of the vehicle', () => {
    const now = deriveLiveState(
      device(atMs),
      location({ serverTimestamp: atMs - 11 * minute }),
      atMs,
      defaultThresholds,
    );
    expect(now.displayImei).toBe('013800138000');
    expect(toCurrentLocation(now, { id: 7, driverId: 8 })).toMatchObject({
      vehicle_id: 7,
      driver_id: 8,
      state: 'stopped',
    });
  });

  it("treats a partner's device as connected while it sends data", () => {
    const partner = (serverTimestamp: number) =>
      deriveLiveState(undefined, location({ source: 'partner', serverTimestamp }), atMs, defaultThresholds).device;
    expect(partner(atMs)).toMatchObject({ protocol: 'partner', connected: true, connected_since: null });
    expect(partner(atMs - 11 * minute)).toMatchObject({ connected: false });
  });
});
