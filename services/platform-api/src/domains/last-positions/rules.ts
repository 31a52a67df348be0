import type { LastLocation, VehicleState } from './schema.ts';

const movingFromKmh = 5;
const idleAfterMs = 60_000;
const offlineAfterMs = 600_000;

/** What a vehicle does, from its newest position (docs/reference/vehicles.md). */
export function stateOf(location: LastLocation | null | undefined, nowMs: number): VehicleState {
  if (location === null || location === undefined) return 'never_connected';
  if (nowMs - lastHeardMs(location) > offlineAfterMs) return 'offline';
  // A device that says nothing but that it lives stands still, however fast it was long ago.
  const isQuiet = nowMs - location.serverTimestamp > offlineAfterMs;
  if (location.speed >= movingFromKmh && !isQuiet) return 'moving';
  if (location.ignition !== true) return 'stopped';
  if (isQuiet) return 'idle';
  // A stop at a light is a part of the drive.
  const { slowSinceMs } = location;
  return slowSinceMs !== null && nowMs - slowSinceMs >= idleAfterMs ? 'idle' : 'moving';
}

/** When a device was last heard of, as far as its newest position says; server time. */
export const lastHeardMs = ({ serverTimestamp, heardAtMs = 0 }: LastLocation): number =>
  Math.max(serverTimestamp, heardAtMs);
