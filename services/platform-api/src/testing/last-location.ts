import type { LastLocation } from '../domains/realtime/schema.ts';

/** A newest position as a terminal would have sent it a moment ago. */
export const lastLocationOf = (imei: string, latitude: number, longitude: number): LastLocation => ({
  imei,
  latitude,
  longitude,
  altitude: null,
  speed: 0,
  course: 0,
  gpsValid: true,
  satellites: null,
  signal: null,
  ignition: null,
  odometerKm: null,
  fuelL: null,
  batteryPercent: null,
  externalVoltage: null,
  alarms: [],
  source: 'jt808',
  backfilled: false,
  slowSinceMs: null,
  timestamp: Date.now(),
  serverTimestamp: Date.now(),
});
