import { telemetryPartition } from '@fleet/bus';
import type { Deps } from '../../platform/deps.ts';

/** States of a vehicle (docs/reference/vehicles.md). */
export const vehicleStates = ['moving', 'idle', 'stopped', 'offline', 'never_connected'] as const;

/** One of `vehicleStates`. */
export type VehicleState = (typeof vehicleStates)[number];

/** Returns the hash tag of a partition of telemetry, which puts all its keys in one slot of a Redis Cluster. */
export const partitionTag = (partition: number): string => `{telemetry-${partition}}`;

/** Returns the suffix of a terminal's keys, by canonical number. */
export const terminalSuffix = (imei: string, { TELEMETRY_PARTITIONS }: PartitionSettings): string =>
  `${partitionTag(telemetryPartition(imei, TELEMETRY_PARTITIONS))}:${imei}`;

/** Returns the Redis key of a terminal's newest position, by canonical number. */
export const lastLocationKey = (imei: string, settings: PartitionSettings): string =>
  `last-location:${terminalSuffix(imei, settings)}`;

type PartitionSettings = Pick<Deps['config'], 'TELEMETRY_PARTITIONS'>;

/** Redis, and the setting that decides the keys in it. */
export type LocationDeps = Pick<Deps, 'redis'> & { readonly config: PartitionSettings };

/**
 * Newest position of a terminal, stored in Redis as JSON under `lastLocationKey`. The telemetry consumer writes it. Responses
 * add what depends on the caller or on the time: vehicle, driver, state and address.
 */
export interface LastLocation {
  /** Number in the form that the terminal sends. */
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
  /** Server time since which the speed has been below `movingFromKmh`; null while it is not. */
  readonly slowSinceMs: number | null;
  /**
   * State of the vehicle after the newest message, and the server time since which it has had that state. Absent in
   * records without that time.
   */
  readonly stateChange?: { readonly state: VehicleState; readonly atMs: number } | undefined;
  /** Time of the position by the terminal's clock. */
  readonly timestamp: number;
  readonly serverTimestamp: number;
  /** Server time of the last message without a position: a heartbeat from a partner. */
  readonly heardAtMs?: number | undefined;
}
