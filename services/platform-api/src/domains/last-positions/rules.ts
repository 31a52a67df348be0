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

/**
 * Returns the server time since which a vehicle has had the state that `deriveState` returns; null if it is not known.
 * An offline vehicle has been offline since its last message.
 */
export function deriveStateSince(location: LastLocation, nowMs: number, thresholds: VehicleThresholds): number | null {
  const state = deriveState(location, nowMs, thresholds);
  if (state === 'offline') return lastReceivedMs(location);
  if (state === location.stateChange?.state) return location.stateChange.atMs;
  // The state has changed with the time that passed since the message.
  if (nowMs - location.serverTimestamp > thresholds.offlineAfterMs) return location.serverTimestamp;
  return state === 'idle' ? location.slowSinceMs : null;
}

/** Returns a new position with its state, and the time since which the vehicle has had that state. */
export function withStateChange(
  before: LastLocation | undefined,
  after: LastLocation,
  receivedAtMs: number,
  thresholds: VehicleThresholds,
): LastLocation {
  const state = deriveState(after, receivedAtMs, thresholds);
  const isSame = before !== undefined && deriveState(before, receivedAtMs, thresholds) === state;
  const atMs = isSame ? deriveStateSince(before, receivedAtMs, thresholds) : receivedAtMs;
  return { ...after, stateChange: atMs === null ? undefined : { state, atMs } };
}

/** Returns the server time at which a device last sent something, as far as its newest position records it. */
export const lastReceivedMs = (location: LastLocation): number =>
  Math.max(location.serverTimestamp, location.heardAtMs ?? 0);
