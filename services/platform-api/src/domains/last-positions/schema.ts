/** States of a vehicle (docs/reference/vehicles.md). */
export const vehicleStates = ['moving', 'idle', 'stopped', 'offline', 'never_connected'] as const;

/** One of `vehicleStates`. */
export type VehicleState = (typeof vehicleStates)[number];

/**
 * The newest position of a terminal as Redis keeps it, `last-location:<canonical number>`, as JSON. What depends on who asks or on the time (vehicle, driver, state,
 * address) is filled in when it is shown. Written by the consumer of telemetry.
 */
export interface LastLocation {
  /** The number as the terminal sends it. */
  readonly imei: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly altitude: number | null;
  /** km/h */
  readonly speed: number;
  readonly course: number;
  readonly gpsValid: boolean;
  readonly satellites: number | null;
  readonly signal: number | null;
  readonly ignition: boolean | null;
  readonly odometerKm: number | null;
  readonly fuelL: number | null;
  readonly batteryPercent: number | null;
  readonly externalVoltage: number | null;
  readonly alarms: readonly string[];
  readonly source: 'jt808' | 'partner';
  readonly backfilled: boolean;
  /** Since when the speed has been under 5 km/h, server time; null while it is not. */
  readonly slowSinceMs: number | null;
  /** The terminal's time of the position. */
  readonly timestamp: number;
  readonly serverTimestamp: number;
  /** When the device was last heard of without a position, server time: a heartbeat that a partner has sent. */
  readonly heardAtMs?: number | undefined;
}
