import type { VehicleThresholds } from '../../platform/thresholds.ts';
import type { LastLocation, VehicleState } from './schema.ts';

const idleAfterMs = 60_000;

/** Returns the state of a vehicle, derived from its newest position (docs/reference/vehicles.md). */
export function deriveState(
  location: LastLocation | null | undefined,
  nowMs: number,
  { movingFromKmh, offlineAfterMs }: VehicleThresholds,
): VehicleState {
  if (location === null || location === undefined) return 'never_connected';
  if (nowMs - lastReceivedMs(location) > offlineAfterMs) return 'offline';
  // A device that sends only heartbeats counts as standing still, however fast its last position was.
  const isQuiet = nowMs - location.serverTimestamp > offlineAfterMs;
  if (location.speed >= movingFromKmh && !isQuiet) return 'moving';
  if (location.ignition !== true) return 'stopped';
  if (isQuiet) return 'idle';
  // A stop at traffic lights is part of the trip.
  const { slowSinceMs } = location;
  return slowSinceMs !== null && nowMs - slowSinceMs >= idleAfterMs ? 'idle' : 'moving';
}

/** Returns the server time at which a device last sent something, as far as its newest position records it. */
export const lastReceivedMs = (location: LastLocation): number =>
  Math.max(location.serverTimestamp, location.heardAtMs ?? 0);
