import { type Static, Type } from 'typebox';
import { profiles } from '../../maps/providers.ts';
import { stringEnum, text } from '../../platform/fields.ts';
import { nullable, recordId, time } from '../../platform/schemas.ts';

const latitude = Type.Number({ minimum: -90, maximum: 90 });
const longitude = Type.Number({ minimum: -180, maximum: 180 });
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 10, default: 5, description: 'Results, at most.' }));

const bias = {
  latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: 'Places near here come first.' })),
  longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: 'Places near here come first.' })),
};

export const reverseQuery = Type.Object({
  latitude,
  longitude,
  language: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,2}$',
      errorMessage: 'must be a language tag such as en',
      description: 'Language of the address, such as `en`; providers have not all of them.',
    }),
  ),
});

export const geocodeQuery = Type.Object({
  address: Type.Unsafe<string>({
    ...text(2, 200, { description: 'Address, name, `latitude,longitude` or full Plus Code; `query` is accepted too.' }),
    alias: 'query',
    examples: ['New Delhi'],
  }),
  ...bias,
  country: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z]{2}$',
      errorMessage: 'must be a country code of 2 letters, such as IN',
      description: 'Only in this country, ISO 3166, such as `IN`.',
    }),
  ),
  limit,
});
export type GeocodeQuery = Static<typeof geocodeQuery>;

export const suggestQuery = Type.Object({
  query: Type.Unsafe<string>({
    ...text(2, 100, { description: 'What was typed so far.' }),
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
    description: 'The vehicle from whose newest position the route begins; `vehicleId` is accepted too.',
    examples: [7],
  }),
  latitude: Type.Optional(Type.Number({ minimum: -90, maximum: 90, description: 'Of the destination.' })),
  longitude: Type.Optional(Type.Number({ minimum: -180, maximum: 180, description: 'Of the destination.' })),
  address: Type.Optional(text(2, 200, { description: 'The destination, instead of its position.' })),
  profile: Type.Optional(stringEnum(profiles, { description: 'Default: car.' })),
  alternatives: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2, default: 0, description: 'Other ways beside the best one, at most.' }),
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

const provider = Type.String({ description: 'Who answered; `embedded`: small data that comes with the product.' });
const fallback = Type.Boolean({ description: 'True: the configured provider could not answer.' });

export const reverseResponseSchema = Type.Object(
  {
    address: Type.String(),
    components,
    latitude: Type.Number({ description: 'Of what the address names.' }),
    longitude: Type.Number(),
    distance_m: Type.Number({ description: 'From the position asked for.' }),
    plus_code: Type.String(),
    geofences: Type.Array(Type.Object({ id: recordId, name: Type.String() }), {
      description: 'Own geofences that hold the position, the smallest first.',
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
    distance_m: nullable(Type.Number({ description: 'From the position of the query.' })),
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
    description: 'straight_line: no roads were known, so distance and time are estimates.',
  }),
};

export const routeResultResponseSchema = Type.Object(
  {
    vehicle_id: recordId,
    origin: Type.Object({
      latitude: Type.Number(),
      longitude: Type.Number(),
      timestamp: Type.Integer({ description: 'Of the position, milliseconds since 1970.' }),
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
