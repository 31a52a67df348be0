import type { LastLocation } from '../domains/last-positions/schema.ts';
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
