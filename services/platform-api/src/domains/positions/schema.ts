import { type Static, Type } from 'typebox';
import { nullable, recordId, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import { locationResponseSchema } from '../last-positions/responses.ts';
import type { LastLocation } from '../last-positions/schema.ts';

/** A reported position of a vehicle. */
export interface Point {
  readonly position: LastLocation;
  /** Id of the driver at that time. */
  readonly driverId: number | null;
}

/** A point to be added to the history of a vehicle. */
export interface NewPoint extends Point {
  readonly vehicleId: number;
  readonly accountId: number;
  /** Identifies a report of a terminal together with the device time. */
  readonly hash: string;
}

/**
 * Points of one terminal in one vehicle within ten minutes of device time: collection `position_buckets`, `_id` is
 * `<canonical number>:<vehicle id>:<2026-11-21T23:10>`. The vehicle id prevents a terminal that moves to another
 * vehicle from showing its earlier positions there.
 *
 * A bucket covers ten minutes because the embedded database reads and writes a whole document for each added report. At
 * one report per second, an hour would take 100 ms; ten minutes take 8 ms.
 */
export interface Bucket {
  readonly _id: string;
  readonly vehicleId: number;
  readonly accountId: number;
  /** The number as the terminal sends it. */
  readonly imei: string;
  /**
   * Keys are `<ms since the bucket's start>-<hash>`, so that a repeated report adds nothing. Values are packed points
   * (`packing.ts`).
   */
  readonly points: Readonly<Record<string, string>>;
}

/**
 * The days and terminals for which a vehicle has history: collection `position_days`, `_id` is the vehicle's id as
 * text. Reads and retention jobs start here and address buckets only by `_id`: the embedded database has no other
 * index, and a sharded server needs to query only one shard.
 */
export interface VehicleDays {
  readonly _id: string;
  readonly vehicleId: number;
  readonly accountId: number;
  /** Keys are `<2026-11-21>:<canonical number>`; the value is how the day is stored. */
  readonly days: Readonly<Record<string, DayKind>>;
}

/**
 * `full`: in buckets of ten minutes. `thin`: one point per five minutes, in one bucket for the day, `<canonical
 * number>:<vehicle id>:<2026-11-21>`.
 */
type DayKind = 'full' | 'thin';

/** A time window in ms of device time; both ends are included. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Longest window in days, and largest number of points, of one response. */
export const maxDays = 31;
export const maxPoints = 10_000;
const maxSimplifyM = 500;

/** Formats of a history. */
const historyFormats = ['json', 'gpx', 'csv'] as const;

const windowQuery = {
  from: Type.Optional(
    Type.String({
      ...timeParameter,
      description: 'RFC 3339, or milliseconds since 1970. Default: one day before `to`.',
    }),
  ),
  to: Type.Optional(
    Type.String({
      ...timeParameter,
      description: 'RFC 3339, or milliseconds since 1970; at most 31 days after `from`. Default: now.',
    }),
  ),
};

export const locationsQuery = Type.Object({
  ...windowQuery,
  limit: Type.Integer({
    minimum: 1,
    default: maxPoints,
    description:
      'Largest number of points in the response; values above 10,000 count as 10,000. The remaining points begin at `next_from`.',
  }),
  simplify_m: Type.Number({
    minimum: 0,
    maximum: maxSimplifyM,
    default: 0,
    description: 'Omits points closer than this distance in metres to the line of the others (Douglas-Peucker).',
  }),
  format: Type.Union(
    historyFormats.map((format) => Type.Literal(format)),
    { default: 'json', description: 'gpx and csv return a file.' },
  ),
});
export type LocationsQuery = Static<typeof locationsQuery>;

export const tripsQuery = Type.Object({
  ...windowQuery,
  address: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Also looks up addresses of stops and trips, up to 200. Each address that is not cached counts as a geocoding request; the address is null once the limit of these requests is reached.',
    }),
  ),
  stops: Type.Optional(
    Type.Boolean({ default: false, description: 'Also returns the stops between the trips, in `meta.stops`.' }),
  ),
});
export type TripsQuery = Static<typeof tripsQuery>;

export const historyResponseSchema = Type.Object({
  data: Type.Array(locationResponseSchema),
  meta: Type.Object({
    truncated: Type.Boolean({ description: 'True if the window has more points than the response.' }),
    next_from: nullable(
      Type.Integer({ description: 'Value of `from` for the next request; milliseconds since 1970.' }),
    ),
  }),
});

const tripResponseSchema = Type.Object(
  {
    started_at: time,
    ended_at: nullable(time),
    start: locationResponseSchema,
    end: nullable(locationResponseSchema),
    distance_km: Type.Number(),
    duration_seconds: Type.Integer(),
    idle_seconds: Type.Integer({ description: 'Standstill within the trip, in seconds.' }),
    max_speed: Type.Number({ description: 'km/h' }),
    average_speed: Type.Number({ description: 'km/h, including standstill.' }),
    driver_id: nullable(recordId),
    driver_name: nullable(Type.String({ description: 'Also returned for a driver who has been removed.' })),
    polyline: Type.String({ description: 'Polyline of precision 5.' }),
    event_counts: Type.Record(Type.String(), Type.Integer(), { description: 'Number of notifications by type.' }),
  },
  { title: 'Trip' },
);
export type TripResponse = Static<typeof tripResponseSchema>;

const stopResponseSchema = Type.Object(
  {
    from: time,
    to: nullable({ ...time, description: 'Start of the next trip; null without a later trip in the window.' }),
    latitude: Type.Number(),
    longitude: Type.Number(),
    address: nullable(Type.String({ description: 'Null without the parameter `address`.' })),
    geofence_ids: Type.Array(recordId, { description: 'Geofences that contain the position.' }),
  },
  { title: 'Stop' },
);
export type StopResponse = Static<typeof stopResponseSchema>;

export const tripsResponseSchema = Type.Object({
  data: Type.Array(tripResponseSchema),
  meta: Type.Optional(Type.Object({ stops: Type.Array(stopResponseSchema) })),
});
