import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import type { Bounds } from '../../geometry/bounds.ts';
import { bboxParameter } from '../../platform/coordinates.ts';
import {
  attributes,
  color,
  idList,
  nullableField,
  searchText,
  stringEnum,
  trimmedText,
} from '../../platform/fields.ts';
import { nullableSchedule, type Schedule, schedule } from '../../platform/schedule.ts';
import { nullable, recordId, recordProperties } from '../../platform/schemas.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

const geofenceTypes = ['polygon', 'circle', 'corridor'] as const;
export type GeofenceType = (typeof geofenceTypes)[number];

const geofenceEvents = ['enter', 'exit', 'dwell'] as const;
export type GeofenceEvent = (typeof geofenceEvents)[number];

/** States of an area in the memory of a terminal. */
const syncStates = ['synced', 'pending', 'failed', 'unsupported'] as const;
export type SyncState = (typeof syncStates)[number];

/** Stored geofence. */
export interface Geofence extends AccountRecord {
  readonly name: string;
  readonly type: GeofenceType;
  /**
   * Latitudes and longitudes, alternating, because the embedded database has no nested lists. A ring is stored without
   * its repeated last corner.
   */
  readonly points: readonly number[];
  readonly radiusM: number | null;
  readonly widthM: number | null;
  readonly bounds: Bounds;
  readonly areaM2: number;
  readonly color: string | null;
  readonly description: string | null;
  readonly notifyOn: readonly GeofenceEvent[];
  readonly dwellSeconds: number | null;
  readonly speedLimitKmh: number | null;
  readonly schedule: Schedule | null;
  /**
   * Vehicles to which the geofence applies, named directly and by group. If both lists are empty, it applies to all
   * vehicles of the account.
   */
  readonly vehicles: readonly number[];
  readonly groups: readonly number[];
  readonly pushToTerminal: boolean;
  /** States by canonical terminal number; a terminal that is not in it is pending. */
  readonly terminalSync: Readonly<Record<string, SyncState>>;
  /** JSON. */
  readonly attributes: string;
}

/** Pair `[latitude, longitude]`; its range is checked once the order is known. */
const pair = Type.Array(Type.Number(), { minItems: 2, maxItems: 2, examples: [[22.5431, 114.0579]] });

const coordinates = Type.Array(pair, {
  minItems: 1,
  maxItems: 501,
  description:
    '`[latitude, longitude]` pairs. Polygon: 3 to 500 corners, closed automatically, without self-intersection. Circle: its centre. Corridor: 2 to 500 points.',
});

const details = {
  type: Type.Optional(stringEnum(geofenceTypes, { description: 'Default: polygon.' })),
  coordinate_order: Type.Optional(
    stringEnum(['latlng', 'lnglat'], { description: 'Order of the pairs in this request. Default: latlng.' }),
  ),
  radius_m: Type.Optional(
    nullableField(Type.Number({ minimum: 20, maximum: 100_000, description: 'Radius of a circle, in metres.' })),
  ),
  width_m: Type.Optional(
    nullableField(
      Type.Number({
        minimum: 10,
        maximum: 5_000,
        description: 'Width of a corridor in metres, half of it on each side.',
      }),
    ),
  ),
  color: Type.Optional(nullableField(color)),
  description: Type.Optional(nullableField(trimmedText(0, 1000))),
  notify_on: Type.Optional(
    Type.Array(stringEnum(geofenceEvents), { maxItems: 20, description: 'Default: enter and exit.' }),
  ),
  dwell_seconds: Type.Optional(
    nullableField(
      Type.Integer({ minimum: 60, maximum: 86_400, description: 'Required if `notify_on` contains dwell.' }),
    ),
  ),
  speed_limit_kmh: Type.Optional(
    nullableField(Type.Integer({ minimum: 5, maximum: 200, description: 'Speed limit inside the geofence, in km/h.' })),
  ),
  schedule: nullableSchedule,
  vehicles: Type.Optional(idList()),
  groups: Type.Optional(idList(1_000)),
  push_to_terminal: Type.Optional(
    Type.Boolean({ description: 'Also stores the area in the terminals (0x8600, 0x8602, 0x8604, 0x8606).' }),
  ),
  attributes: Type.Optional(attributes),
};
const name = trimmedText(1, 100);

export const createGeofenceBody = Type.Object({ name, coordinates, ...details });
export const updateGeofenceBody = Type.Object({
  name: Type.Optional(name),
  coordinates: Type.Optional(coordinates),
  ...details,
});
export type GeofenceBody = Static<typeof updateGeofenceBody>;

const sortable = ['id', 'name', 'created_at', 'updated_at'] as const;

export const listGeofencesQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(sortable),
  query: searchText('name or description'),
  type: Type.Optional(stringEnum(geofenceTypes)),
  vehicle_id: Type.Optional(
    Type.Integer({
      minimum: 1,
      description: 'Returns geofences that apply to this vehicle, directly or through a group.',
    }),
  ),
  bbox: Type.Optional(bboxParameter),
});
export type ListGeofencesQuery = Static<typeof listGeofencesQuery>;

const feature = Type.Object(
  {
    type: Type.Literal('Feature'),
    geometry: Type.Object({
      type: stringEnum(['Polygon', 'LineString']),
      coordinates: Type.Array(Type.Array(Type.Unknown()), {
        description: 'Longitude first, as in GeoJSON; for a polygon, a list of rings.',
      }),
    }),
    properties: Type.Object({
      id: recordId,
      name: Type.String(),
      type: stringEnum(geofenceTypes),
      center: Type.Optional(pair),
      radius_m: Type.Optional(Type.Number()),
      width_m: Type.Optional(Type.Number()),
    }),
  },
  { description: 'GeoJSON feature. A circle is drawn with 64 corners, a corridor as its centre line.' },
);

export const geofenceResponseSchema = Type.Object(
  {
    ...recordProperties,
    name: Type.String(),
    type: stringEnum(geofenceTypes),
    coordinates: Type.Array(pair),
    radius_m: nullable(Type.Number()),
    width_m: nullable(Type.Number()),
    color: nullable(Type.String()),
    description: nullable(Type.String()),
    notify_on: Type.Array(stringEnum(geofenceEvents)),
    dwell_seconds: nullable(Type.Integer()),
    speed_limit_kmh: nullable(Type.Integer()),
    schedule: nullable(schedule),
    vehicles: Type.Array(recordId),
    groups: Type.Array(recordId),
    push_to_terminal: Type.Boolean(),
    attributes,
    terminal_sync: Type.Record(Type.String(), stringEnum(syncStates), {
      description: 'States by terminal number, if push_to_terminal is set.',
    }),
    area_m2: Type.Number(),
    bbox: Type.Array(Type.Number(), { minItems: 4, maxItems: 4 }),
    geojson: feature,
    inside_count: Type.Integer({ minimum: 0, description: 'Number of vehicles whose newest position lies inside.' }),
  },
  { title: 'Geofence' },
);
export type GeofenceResponse = Static<typeof geofenceResponseSchema>;
