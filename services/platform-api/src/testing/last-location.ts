import type { LastLocation } from '../domains/last-positions/schema.ts';
import { testPosition } from './positions.ts';

/** A newest position as a terminal that tells of nothing else would have sent it a moment ago. */
export const lastLocationOf = (imei: string, latitude: number, longitude: number): LastLocation =>
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
