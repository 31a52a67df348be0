import type { LastLocation } from '../realtime/schema.ts';

/** A position of a vehicle that was reported. */
export interface Point {
  readonly position: LastLocation;
  /** Who drove. */
  readonly driverId: number | null;
}

/** What is added to the history of a vehicle. */
export interface NewPoint extends Point {
  readonly vehicleId: number;
  readonly accountId: number;
  /** With the device's time what a report of a terminal is the same by. */
  readonly hash: string;
}

/**
 * Points of ten minutes of device time, of one terminal in one vehicle: `position_buckets`, `_id` is `<canonical number>:<vehicle id>:<2026-11-21T23:10>`. So a
 * terminal that goes to another vehicle never shows there where it was before. Ten minutes, as the embedded database reads and writes a whole document
 * for each report that is added: at one a second an hour would be 100 ms, this is 8 ms.
 */
export interface Bucket {
  readonly _id: string;
  readonly vehicleId: number;
  readonly accountId: number;
  /** The number as the terminal sends it. */
  readonly imei: string;
  /** By `<ms since the bucket's start>-<hash>`, so that the same report adds nothing; the value is a packed point (`packing.ts`). */
  readonly points: Readonly<Record<string, string>>;
}

/**
 * Of which days and terminals a vehicle has history: `position_days`, `_id` is the vehicle's id as text. Reads and sweeps go from here to buckets by their
 * `_id` alone, as the embedded database has no other index, and a server with many shards asks one of them.
 */
export interface VehicleDays {
  readonly _id: string;
  readonly vehicleId: number;
  readonly accountId: number;
  /** Keys are `<2026-11-21>:<canonical number>`; the value says how the day is kept. */
  readonly days: Readonly<Record<string, DayKind>>;
}

/** `full`: in buckets of ten minutes; `thin`: one point in five minutes. */
export type DayKind = 'full' | 'thin';

/** From one moment to another, ms of device time; both are part of it. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}
