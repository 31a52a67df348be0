import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Bounds } from '../../geometry/bounds.ts';
import { type Profile, profiles } from '../../maps/providers.ts';
import { color, idList, nullableField, searchText, stringEnum, text, trimmedText } from '../../platform/fields.ts';
import { nullableSchedule, type Schedule, schedule } from '../../platform/schedule.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

export const routeEvents = ['deviation', 'return', 'waypoint_arrival', 'completed'] as const;
export type RouteEvent = (typeof routeEvents)[number];

/** The source of a path. */
const pathSources = ['client', 'provider', 'straight_line'] as const;
export type PathSource = (typeof pathSources)[number];

/** A stop or via point of a route. */
export interface Waypoint {
  readonly lat: number;
  readonly lng: number;
  readonly name: string | null;
  /** Distance within which the vehicle has arrived. */
  readonly radiusM: number;
  readonly stopSeconds: number | null;
}

/** A stored route. */
export interface StoredRoute extends AccountRecord {
  readonly name: string;
  readonly description: string | null;
  readonly color: string | null;
  readonly waypoints: readonly Waypoint[];
  /** The path, as alternating latitudes and longitudes. */
  readonly points: readonly number[];
  readonly bounds: Bounds;
  readonly pathSource: PathSource;
  readonly distanceM: number;
  readonly durationSeconds: number;
  readonly profile: Profile;
  readonly deviationM: number;
  readonly notifyOn: readonly RouteEvent[];
  readonly schedule: Schedule | null;
  readonly speedLimitKmh: number | null;
  readonly active: boolean;
  /** Ids of the linked vehicles. */
  readonly vehicleIds: readonly number[];
}

const latitude = Type.Number({ minimum: -90, maximum: 90 });
const longitude = Type.Number({ minimum: -180, maximum: 180 });
const pair = Type.Array(Type.Number(), { minItems: 2, maxItems: 2, examples: [[22.5431, 114.0579]] });

const waypoint = Type.Object({
  lat: latitude,
  lng: longitude,
  name: Type.Optional(nullableField(trimmedText(0, 100))),
  radius_m: Type.Optional(Type.Integer({ minimum: 10, maximum: 5_000, description: 'Default: 50.' })),
  stop_seconds: Type.Optional(nullableField(Type.Integer({ minimum: 0, maximum: 86_400 }))),
});

const details = {
  description: Type.Optional(nullableField(trimmedText(0, 1000))),
  color: Type.Optional(nullableField(color)),
  waypoints: Type.Optional(
    Type.Array(waypoint, {
      maxItems: 50,
      description: '2 to 50 waypoints, or none. Required without a path, which is then drawn through them.',
    }),
  ),
  path: Type.Optional(
    Type.Unsafe<[number, number][] | null>({
      type: ['array', 'null'],
      items: pair,
      minItems: 2,
      maxItems: 10_000,
      description: '`[latitude, longitude]` pairs. Null redraws the path through the waypoints.',
    }),
  ),
  polyline: Type.Optional(
    nullableField(
      text(1, 200_000, {
        description:
          'The path as a polyline of precision 5, instead of `path`. If both are given, they must be the same line.',
      }),
    ),
  ),
  profile: Type.Optional(stringEnum(profiles, { description: 'Default: car.' })),
  deviation_m: Type.Optional(
    Type.Integer({
      minimum: 20,
      maximum: 5_000,
      description: 'Distance from the path in metres beyond which a vehicle is off the route. Default: 100.',
    }),
  ),
  notify_on: Type.Optional(Type.Array(stringEnum(routeEvents), { maxItems: 20, description: 'Default: all.' })),
  schedule: nullableSchedule,
  speed_limit_kmh: Type.Optional(nullableField(Type.Integer({ minimum: 5, maximum: 200 }))),
  active: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
};
const name = trimmedText(1, 100);

export const createRouteBody = Type.Object({ name, ...details });
export const updateRouteBody = Type.Object({ name: Type.Optional(name), ...details });
export type RouteBody = Static<typeof updateRouteBody>;

const sortable = ['id', 'name', 'created_at', 'updated_at'] as const;
/** Stored names of the fields in `sortable` that differ. */
export const sortFields = { created_at: 'createdAt', updated_at: 'updatedAt' } as const;

export const linkedRoutesQuery = Type.Object({ ...paginationQuery, sort: sortParameter(sortable) });
export type LinkedRoutesQuery = Static<typeof linkedRoutesQuery>;

export const listRoutesQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(sortable),
  query: searchText('name or description'),
  vehicle_id: Type.Optional(recordId),
  active: Type.Optional(Type.Boolean({ description: 'Only active (true) or inactive (false) routes.' })),
});
export type ListRoutesQuery = Static<typeof listRoutesQuery>;

const routeFields = {
  ...recordProperties,
  name: Type.String(),
  description: nullable(Type.String()),
  color: nullable(Type.String()),
  waypoints: Type.Array(
    Type.Object({
      lat: latitude,
      lng: longitude,
      name: nullable(Type.String()),
      radius_m: Type.Integer(),
      stop_seconds: nullable(Type.Integer()),
    }),
  ),
  path: Type.Array(pair),
  polyline: Type.String({ description: 'The path as a polyline of precision 5.' }),
  profile: stringEnum(profiles),
  deviation_m: Type.Integer(),
  notify_on: Type.Array(stringEnum(routeEvents)),
  schedule: nullable(schedule),
  speed_limit_kmh: nullable(Type.Integer()),
  active: Type.Boolean(),
  distance_m: Type.Number(),
  duration_seconds: Type.Integer(),
  path_source: stringEnum(pathSources, {
    description: 'straight_line: no roads were known, so distance and duration are estimates.',
  }),
  vehicle_ids: Type.Array(recordId),
  bbox: Type.Array(Type.Number(), { minItems: 4, maxItems: 4 }),
};

export const routeResponseSchema = Type.Object(routeFields, { title: 'Route' });
export type RouteResponse = Static<typeof routeResponseSchema>;

const progressResponseSchema = Type.Object(
  {
    waypoint_index: nullable(Type.Integer({ minimum: 0, description: 'Index of the next waypoint.' })),
    distance_remaining_m: nullable(Type.Number()),
    eta: nullable(time),
    off_route: nullable(Type.Boolean()),
  },
  { title: 'RouteProgress', description: 'All fields are null while the vehicle has no position.' },
);
export type ProgressResponse = Static<typeof progressResponseSchema>;

export const linkedRouteResponseSchema = Type.Object(
  { ...routeFields, progress: progressResponseSchema },
  { title: 'LinkedRoute' },
);

export const linkBody = Type.Object({ route_ids: Type.Array(recordId, { minItems: 1, maxItems: 50 }) });

export const linksResponseSchema = Type.Object(
  { vehicle_id: recordId, route_ids: idList() },
  { title: 'RouteLinks', description: 'All routes of the vehicle after the change.' },
);

export const snapBody = Type.Object({
  coordinates: Type.Array(
    Type.Object({
      lat: latitude,
      lng: longitude,
      timestamp: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 253_402_300_799_999, description: 'Milliseconds since 1970.' }),
      ),
      accuracy_m: Type.Optional(Type.Number({ minimum: 0, maximum: 10_000 })),
    }),
    { minItems: 2, maxItems: 1_000 },
  ),
  profile: Type.Optional(stringEnum(profiles, { description: 'Default: car.' })),
});
export type SnapBody = Static<typeof snapBody>;

const latLng = Type.Object({ lat: latitude, lng: longitude });

export const snapResponseSchema = Type.Object(
  {
    coordinates: Type.Array(latLng, { description: 'The line to draw.' }),
    points: Type.Array(
      Type.Object({
        index: Type.Integer({ minimum: 0 }),
        lat: latitude,
        lng: longitude,
        matched: Type.Boolean({ description: 'False: no road is within reach; the point is returned as it was sent.' }),
        distance_m: nullable(Type.Number()),
        road_name: nullable(Type.String()),
        speed_limit_kmh: nullable(Type.Integer()),
      }),
      { description: 'One item for each coordinate, in the same order.' },
    ),
    distance_m: Type.Number(),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    provider: Type.String(),
    fallback: Type.Boolean({ description: 'True: the configured provider was unavailable.' }),
  },
  { title: 'SnapResult' },
);
export type SnapResponse = Static<typeof snapResponseSchema>;
