import { terminalKey } from '@fleet/jt808';
import { type LastLocation, lastLocationKey } from '../domains/last-positions/schema.ts';
import type { Deps } from '../platform/deps.ts';
import { testPosition } from './positions.ts';

/** Returns a last position as reported just now, without optional data. */
export const lastLocationAt = (imei: string, latitude: number, longitude: number): LastLocation =>
  testPosition(imei, {
    latitude,
    longitude,
    altitude: null,
    course: 0,
    satellites: null,
    ignition: null,
    odometerKm: null,
    alarms: [],
    slowSinceMs: null,
  });

/** Stores the newest position of a terminal, as telemetry does. */
export async function writeLastLocation(
  { redis, config }: Pick<Deps, 'redis' | 'config'>,
  location: LastLocation,
): Promise<void> {
  const imei = terminalKey(location.imei);
  if (imei === null) throw new Error(`${location.imei} is not a terminal number`);
  await redis.set(lastLocationKey(imei, config), JSON.stringify(location));
}
