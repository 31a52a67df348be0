import type { LastLocation, VehicleState } from './schema.ts';

const movingFromKmh = 5;
const idleAfterMs = 60_000;
const offlineAfterMs = 600_000;

/** What a vehicle does, from its newest position (platform-contract.md, section 3). */
export function stateOf(location: LastLocation | null | undefined, nowMs: number): VehicleState {
  if (location === null || location === undefined) return 'never_connected';
  if (nowMs - location.serverTimestamp > offlineAfterMs) return 'offline';
  if (location.speed >= movingFromKmh) return 'moving';
  if (location.ignition !== true) return 'stopped';
  // A stop at a light is a part of the drive.
  const { slowSinceMs } = location;
  return slowSinceMs !== null && nowMs - slowSinceMs >= idleAfterMs ? 'idle' : 'moving';
}
