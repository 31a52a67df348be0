import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { bboxParameter } from '../../platform/coordinates.ts';
import { searchText, text } from '../../platform/fields.ts';
import { date, nullable, recordProperties } from '../../platform/schemas.ts';
import type { RecordFields } from '../../store/record-store.ts';

/** Prices of a vehicle class, in minor units of the currency. */
export interface TollRate {
  readonly vehicleClass: string;
  readonly single: number;
  readonly return: number | null;
  readonly monthly: number | null;
  readonly currency: string;
}

/** A toll gate of a file. */
export interface TollGateFields {
  readonly name: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly highway: string | null;
  readonly city: string | null;
  readonly state: string | null;
  readonly country: string;
  readonly operator: string | null;
  readonly direction: string | null;
  readonly rates: readonly TollRate[];
  /** `YYYY-MM-DD` */
  readonly effectiveFrom: string | null;
  readonly source: string;
}

/** A stored toll gate. It belongs to no account; all accounts see the same gates. */
export interface TollGate extends RecordFields, TollGateFields {
  /** Name, position and direction, which identify a gate of the file. */
  readonly key: string;
}

export const listTollGatesQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'name', 'highway', 'city', 'state'], {
    default: null,
    otherwise: 'nearest first near a position, driving order on a route, else -id',
  }),
  latitude: Type.Optional(
    Type.Number({
      minimum: -90,
      maximum: 90,
      description: 'Latitude of the position to search near; requires longitude.',
    }),
  ),
  longitude: Type.Optional(
    Type.Number({
      minimum: -180,
      maximum: 180,
      description: 'Longitude of the position to search near; requires latitude.',
    }),
  ),
  radius_km: Type.Optional(
    Type.Number({
      minimum: 0.1,
      maximum: 1_000,
      description: 'Search radius in km around latitude and longitude. Default: 50.',
    }),
  ),
  route_id: Type.Optional(
    Type.Integer({ minimum: 1, description: 'Only gates within 200 m of the path of this route, in driving order.' }),
  ),
  bbox: Type.Optional(bboxParameter),
  query: searchText('name, highway, city or operator'),
  state: Type.Optional(text(1, 100, { description: 'Only gates in this state; full name, case-insensitive.' })),
});
export type ListTollGatesQuery = Static<typeof listTollGatesQuery>;

const maybeText = nullable(Type.String());

export const tollGateResponseSchema = Type.Object(
  {
    ...recordProperties,
    name: Type.String(),
    latitude: Type.Number(),
    longitude: Type.Number(),
    highway: maybeText,
    city: maybeText,
    state: maybeText,
    country: Type.String(),
    operator: maybeText,
    direction: maybeText,
    rates: Type.Array(
      Type.Object({
        vehicle_class: Type.String(),
        single: Type.Integer({ description: 'In minor units of the currency, like the other prices.' }),
        return: nullable(Type.Integer()),
        monthly: nullable(Type.Integer()),
        currency: Type.String({ description: 'ISO 4217.' }),
      }),
    ),
    effective_from: nullable(date),
    source: Type.String(),
    distance_from_start_m: Type.Optional(Type.Number({ description: 'Distance along the route of `route_id`.' })),
  },
  { title: 'TollGate' },
);
export type TollGateResponse = Static<typeof tollGateResponseSchema>;
