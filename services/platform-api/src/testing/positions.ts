import type { LastLocation } from '../domains/last-positions/schema.ts';

/** Returns a last position as the telemetry consumer stores it: a parked vehicle that reports now. */
export const testPosition = (imei: string, more: Partial<LastLocation> = {}): LastLocation => ({
  imei,
  latitude: 48.1,
  longitude: 11.5,
  altitude: 500,
  speed: 0,
  course: 90,
  gpsValid: true,
  satellites: 9,
  signal: null,
  ignition: false,
  odometerKm: 1.5,
  fuelL: null,
  batteryPercent: null,
  externalVoltage: null,
  alarms: ['sos'],
  source: 'jt808',
  backfilled: false,
  slowSinceMs: Date.now(),
  timestamp: Date.now(),
  serverTimestamp: Date.now(),
  ...more,
});
