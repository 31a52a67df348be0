import { type Static, Type } from 'typebox';
import { profiles } from '../../maps/providers.ts';
import { stringEnum, text } from '../../platform/fields.ts';
import { nullable, recordId, time } from '../../platform/schemas.ts';

const latitude = Type.Number({ minimum: -90, maximum: 90 });
const longitude = Type.Number({ minimum: -180, maximum: 180 });
const limit = Type.Optional(
  Type.Integer({ minimum: 1, maximum: 10, default: 5, description: 'Maximum number of results.' }),
);

const bias = {
  latitude: Type.Optional(
    Type.Number({ minimum: -90, maximum: 90, description: 'Latitude of a position; places near it come first.' }),
  ),
  longitude: Type.Optional(
    Type.Number({ minimum: -180, maximum: 180, description: 'Longitude of a position; places near it come first.' }),
  ),
};

export const reverseQuery = Type.Object({
  latitude,
  longitude,
  language: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$',
      errorMessage: 'must be a language tag such as en',
      description: 'Language of the address, such as `en`. Providers do not support every language.',
    }),
  ),
});

export const geocodeQuery = Type.Object({
  address: Type.Unsafe<string>({
    ...text(2, 200, {
      description: 'Address, name, `latitude,longitude` or full Plus Code. `query` is accepted as an alias.',
    }),
    alias: 'query',
    examples: ['New Delhi'],
  }),
  ...bias,
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      errorMessage: 'must be a country code of 2 letters, such as IN',
      description: 'Limits the results to this country, an ISO 3166 code such as `IN`.',
    }),
  ),
  limit,
});
export type GeocodeQuery = Static<typeof geocodeQuery>;

export const suggestQuery = Type.Object({
  query: Type.Unsafe<string>({
    ...text(2, 100, { description: 'Text typed so far.' }),
    examples: ['New De'],
  }),
  ...bias,
  limit,
});
export type SuggestQuery = Static<typeof suggestQuery>;

export const routeQuery = Type.Object({
  vehicle_id: Type.Unsafe<number>({
    ...recordId,
    alias: 'vehicleId',
    description: 'Vehicle at whose newest position the route starts. `vehicleId` is accepted as an alias.',
    examples: [7],
  }),
  latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: 'Latitude of the destination.' })),
  longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: 'Longitude of the destination.' })),
  address: Type.Optional(text(2, 200, { description: 'Address of the destination, instead of its position.' })),
  profile: Type.Optional(stringEnum(profiles, { description: 'Default: car.' })),
  alternatives: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 2,
      default: 0,
      description: 'Maximum number of routes in addition to the best one.',
    }),
  ),
});
export type RouteQuery = Static<typeof routeQuery>;

const maybeText = nullable(Type.String());
const components = Type.Object(
  {
    house: maybeText,
    road: maybeText,
    suburb: maybeText,
    city: maybeText,
    district: maybeText,
    state: maybeText,
    postcode: maybeText,
    country: maybeText,
    country_code: maybeText,
  },
  { title: 'AddressComponents' },
);

const provider = Type.String({
  description: 'Provider of the result; `embedded` is the small data set included in the product.',
});
const fallback = Type.Boolean({ description: 'True if the configured provider could not serve the request.' });

export const reverseResponseSchema = Type.Object(
  {
    address: Type.String(),
    components,
    latitude: Type.Number({ description: 'Latitude of the place that the address names.' }),
    longitude: Type.Number(),
    distance_m: Type.Number({ description: 'Distance from the requested position, in metres.' }),
    plus_code: Type.String(),
    geofences: Type.Array(Type.Object({ id: recordId, name: Type.String() }), {
      description: "The account's geofences that contain the position, the smallest first.",
    }),
    provider,
    cached: Type.Boolean(),
    fallback,
  },
  { title: 'ReverseResult' },
);
export type ReverseResponse = Static<typeof reverseResponseSchema>;

export const placeResponseSchema = Type.Object(
  {
    address: Type.String(),
    latitude: Type.Number(),
    longitude: Type.Number(),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    components,
    type: Type.String(),
    provider,
    fallback,
  },
  { title: 'Place' },
);
export type PlaceResponse = Static<typeof placeResponseSchema>;

export const suggestionResponseSchema = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    subtitle: Type.String(),
    latitude: Type.Number(),
    longitude: Type.Number(),
    type: Type.String(),
    distance_m: nullable(Type.Number({ description: 'Distance from the position of the query, in metres.' })),
  },
  { title: 'Suggestion' },
);
export type SuggestionResponse = Static<typeof suggestionResponseSchema>;

const pair = Type.Array(Type.Number(), { minItems: 2, maxItems: 2 });
const way = {
  distance_m: Type.Number(),
  duration_seconds: Type.Integer(),
  polyline: Type.String({ description: 'Precision 5.' }),
  coordinates: Type.Array(pair),
  path_source: stringEnum(['provider', 'straight_line'], {
    description: '`straight_line`: no road data was available, so distance and time are estimates.',
  }),
};

export const routeResultResponseSchema = Type.Object(
  {
    vehicle_id: recordId,
    origin: Type.Object({
      latitude: Type.Number(),
      longitude: Type.Number(),
      timestamp: Type.Integer({ description: 'Time of the position, in milliseconds since 1970.' }),
    }),
    destination: Type.Object({ latitude: Type.Number(), longitude: Type.Number(), address: maybeText }),
    ...way,
    eta: time,
    steps: Type.Array(
      Type.Object({ instruction: Type.String(), distance_m: Type.Number(), duration_seconds: Type.Integer() }),
    ),
    alternatives: Type.Array(Type.Object(way)),
    provider,
    fallback,
  },
  { title: 'RouteResult' },
);
export type RouteResultResponse = Static<typeof routeResultResponseSchema>;
