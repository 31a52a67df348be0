import { type Static, Type } from 'typebox';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';
import type { LastLocation } from '../last-positions/schema.ts';

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

/** `full`: in buckets of ten minutes; `thin`: one point in five minutes, in one bucket for the day, `<canonical number>:<vehicle id>:<2026-11-21>`. */
export type DayKind = 'full' | 'thin';

/** From one moment to another, ms of device time; both are part of it. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Days that one answer looks back over, at most, and points in it. */
export const maxDays = 31;
export const maxPoints = 10_000;
export const maxSimplifyM = 500;

/** The forms in which a history can be had. */
export const historyFormats = ['json', 'gpx', 'csv'] as const;

const windowQuery = {
  from: Type.Optional(
    Type.String({ ...timeParameter, description: 'RFC 3339, or milliseconds since 1970. Default: a day before `to`.' }),
  ),
  to: Type.Optional(
    Type.String({ ...timeParameter, description: 'The same; 31 days after `from` at most. Default: now.' }),
  ),
};

export const locationsQuery = Type.Object({
  ...windowQuery,
  limit: Type.Integer({
    minimum: 1,
    default: maxPoints,
    description: 'Points in the answer; above 10,000 it is 10,000. What is left begins at `next_from`.',
  }),
  simplify_m: Type.Number({
    minimum: 0,
    maximum: maxSimplifyM,
    default: 0,
    description: 'Leave out points that are no further than this from the line of the others (Douglas-Peucker).',
  }),
  format: Type.Union(
    historyFormats.map((format) => Type.Literal(format)),
    { default: 'json', description: 'gpx and csv are files.' },
  ),
});
export type LocationsQuery = Static<typeof locationsQuery>;

export const tripsQuery = Type.Object(windowQuery);
export type TripsQuery = Static<typeof tripsQuery>;

export const historyResponseSchema = Type.Object({
  data: Type.Array(locationResponseSchema),
  meta: Type.Object({
    truncated: Type.Boolean({ description: 'True where there is more in the window than the answer has.' }),
    next_from: nullable(Type.Integer({ description: 'Where to go on, as `from`; milliseconds since 1970.' })),
  }),
});

export const tripResponseSchema = Type.Object(
  {
    started_at: time,
    ended_at: nullable(time),
    start: locationResponseSchema,
    end: nullable(locationResponseSchema),
    distance_km: Type.Number(),
    duration_seconds: Type.Integer(),
    idle_seconds: Type.Integer({ description: 'Standstill within the trip.' }),
    max_speed: Type.Number({ description: 'km/h' }),
    average_speed: Type.Number({ description: 'km/h, standstill included.' }),
    driver_id: nullable(recordId),
    driver_name: nullable(Type.String({ description: 'Also of a driver who was removed since.' })),
    polyline: Type.String({ description: 'Precision 5.' }),
    event_counts: Type.Record(Type.String(), Type.Integer(), { description: 'Notifications by type.' }),
  },
  { title: 'Trip' },
);
export type TripResponse = Static<typeof tripResponseSchema>;
