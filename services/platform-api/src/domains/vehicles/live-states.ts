import { type DeviceState, readDevices } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import type { VehicleThresholds } from '../../platform/thresholds.ts';
import { findLastLocations, type LocationDeps } from '../last-positions/queries.ts';
import { toLocationResponse } from '../last-positions/responses.ts';
import { deriveState, deriveStateSince, lastReceivedMs } from '../last-positions/rules.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { toDetailsResponse } from './device-details.ts';
import type { DeviceResponse, VehicleResponse } from './schema.ts';

/** Current state of a terminal. */
export interface VehicleLiveState {
  readonly state: VehicleResponse['state'];
  /** Server time since which the vehicle has had the state; null if unknown. */
  readonly stateSinceMs: number | null;
  readonly location: LastLocation | null;
  readonly device: DeviceResponse | null;
  /** Number in the form that the terminal sends. */
  readonly displayImei: string | null;
}

/** State of a vehicle without a terminal, or whose terminal never sent anything. */
export const neverConnected: VehicleLiveState = {
  state: 'never_connected',
  stateSinceMs: null,
  location: null,
  device: null,
  displayImei: null,
};

/**
 * Returns the current state of each requested terminal by canonical number. While Redis is unavailable, all terminals
 * are offline.
 */
export async function readLiveStates(
  deps: LocationDeps & Pick<Deps, 'log' | 'thresholds'>,
  imeis: readonly string[],
  atMs = Date.now(),
): Promise<Map<string, VehicleLiveState>> {
  try {
    const [devices, locations] = await Promise.all([readDevices(deps.redis, imeis), findLastLocations(deps, imeis)]);
    const derive = (imei: string): VehicleLiveState =>
      deriveLiveState(devices.get(imei), locations.get(imei), atMs, deps.thresholds);
    return new Map(imeis.map((imei) => [imei, derive(imei)]));
  } catch (error) {
    deps.log.warn({ err: error }, 'could not read the state of devices');
    return new Map(imeis.map((imei) => [imei, { ...neverConnected, state: 'offline' }]));
  }
}

/** Returns the state of a terminal from its session and its newest position. */
export function deriveLiveState(
  device: DeviceState | undefined,
  location: LastLocation | undefined,
  atMs: number,
  thresholds: VehicleThresholds,
): VehicleLiveState {
  const positionState = deriveState(location, atMs, thresholds);
  const isRecentlySeen = device !== undefined && atMs - device.lastSeenMs <= thresholds.offlineAfterMs;
  // A terminal that sends only heartbeats counts as standing still.
  const sendsOnlyHeartbeats = isRecentlySeen && (positionState === 'offline' || positionState === 'never_connected');
  const isLost = device !== undefined && location === undefined;
  const state = sendsOnlyHeartbeats ? 'stopped' : isLost ? 'offline' : positionState;
  return {
    state,
    stateSinceMs: findStateSince(state, device, location, atMs, thresholds),
    location: location ?? null,
    device: device === undefined ? toPartnerDeviceResponse(location, atMs, thresholds) : toDeviceResponse(device),
    displayImei: device?.phone ?? location?.imei ?? null,
  };
}

function findStateSince(
  state: VehicleLiveState['state'],
  device: DeviceState | undefined,
  location: LastLocation | undefined,
  atMs: number,
  thresholds: VehicleThresholds,
): number | null {
  const lastPositionMs = location === undefined ? 0 : lastReceivedMs(location);
  if (device !== undefined && state === 'offline') return Math.max(lastPositionMs, device.lastSeenMs);
  if (location !== undefined && state === deriveState(location, atMs, thresholds))
    return deriveStateSince(location, atMs, thresholds);
  // The terminal sends only heartbeats.
  return device === undefined ? null : Math.max(lastPositionMs, device.onlineSinceMs);
}

/** Returns the newest position for the response of a vehicle, with the state of the vehicle. */
export const toCurrentLocation = (
  { location, state, stateSinceMs }: VehicleLiveState,
  vehicle: { readonly id: number; readonly driverId: number | null },
): VehicleResponse['location'] =>
  location && toLocationResponse(location, { vehicleId: vehicle.id, driverId: vehicle.driverId, state, stateSinceMs });

const unknownDetails = toDetailsResponse({});

const toDeviceResponse = ({ edition, onlineSinceMs, lastSeenMs }: DeviceState): DeviceResponse => ({
  protocol: `jt808-${edition}`,
  ...unknownDetails,
  connected: true,
  connected_since: new Date(onlineSinceMs).toISOString(),
  last_seen: new Date(lastSeenMs).toISOString(),
});

/** Returns a partner's device, which has no session and counts as connected while it sends data. */
const toPartnerDeviceResponse = (
  location: LastLocation | undefined,
  atMs: number,
  { offlineAfterMs }: VehicleThresholds,
): DeviceResponse | null =>
  location?.source === 'partner'
    ? {
        protocol: 'partner',
        ...unknownDetails,
        connected: atMs - lastReceivedMs(location) <= offlineAfterMs,
        connected_since: null,
        last_seen: new Date(lastReceivedMs(location)).toISOString(),
      }
    : null;
