import type { Logger } from '@fleet/service-kit';
import { type DeviceState, type Redis, readDevices } from '@fleet/storage';
import type { DeviceShown, VehicleShown } from './schema.ts';

/** What is known of a terminal at this moment. */
export interface VehicleNow {
  readonly state: VehicleShown['state'];
  readonly location: VehicleShown['location'];
  readonly device: DeviceShown | null;
  /** The number as the terminal sends it. */
  readonly shownImei: string | null;
}

const offlineAfterMs = 600_000;

/** Of a vehicle without a terminal, or whose terminal was never heard of. */
export const neverConnected: VehicleNow = { state: 'never_connected', location: null, device: null, shownImei: null };

/** The present of terminals by canonical number, each of those asked for. While Redis is away nothing is known: they are offline. */
export async function vehicleStates(
  { redis, log }: { readonly redis: Redis; readonly log: Logger },
  imeis: readonly string[],
  nowMs = Date.now(),
): Promise<Map<string, VehicleNow>> {
  try {
    const devices = await readDevices(redis, imeis);
    return new Map(imeis.map((imei) => [imei, presentOf(devices.get(imei), nowMs)]));
  } catch (error) {
    log.warn({ err: error }, 'the state of devices could not be read');
    return new Map(imeis.map((imei) => [imei, { ...neverConnected, state: 'offline' }]));
  }
}

function presentOf(device: DeviceState | undefined, nowMs: number): VehicleNow {
  if (device === undefined) return neverConnected;
  return {
    state: nowMs - device.lastSeenMs > offlineAfterMs ? 'offline' : 'stopped',
    location: null,
    device: shownDevice(device),
    shownImei: device.phone,
  };
}

const shownDevice = ({ edition, onlineSinceMs, lastSeenMs }: DeviceState): DeviceShown => ({
  protocol: `jt808-${edition}`,
  manufacturer: null,
  model: null,
  terminal_id: null,
  iccid: null,
  firmware: null,
  connected: true,
  connected_since: new Date(onlineSinceMs).toISOString(),
  last_seen: new Date(lastSeenMs).toISOString(),
});
