import { singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import {
  geocodeQuery,
  placeResponseSchema,
  reverseQuery,
  reverseResponseSchema,
  routeQuery,
  routeResultResponseSchema,
  suggestionResponseSchema,
  suggestQuery,
} from './schema.ts';
import { generateRoute, geocode, reverseGeocode, suggestAddresses } from './use-cases.ts';

const tags = ['Geocoding'];
const bucket = 'geocode';
const listOf = <T extends typeof placeResponseSchema | typeof suggestionResponseSchema>(item: T) =>
  Type.Object({ data: Type.Array(item) });

export const geocodingRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/devices/reverse-geocode',
    operationId: 'reverseGeocode',
    summary: 'Reverse-geocode a position',
    description:
      "Returns the address and the account's geofences that contain the position. Addresses from providers are cached for 30 days. The embedded geocoder returns the distance and direction from the nearest city, or the name of the account's geofence.",
    tags,
    bucket,
    query: reverseQuery,
    response: singleSchema(reverseResponseSchema),
    handle: async ({ query, context }) => ({
      data: await reverseGeocode(deps, getCaller(context), [query.latitude, query.longitude], query.language),
    }),
  }),
  platformRoute({
    method: 'get',
    path: '/devices/geocode',
    operationId: 'geocode',
    summary: 'Find the positions of an address',
    description: 'Returns an empty list if nothing matches.',
    tags,
    bucket,
    query: geocodeQuery,
    response: listOf(placeResponseSchema),
    handle: async ({ query, context }) => ({ data: await geocode(deps, getCaller(context), query) }),
  }),
  platformRoute({
    method: 'get',
    path: '/devices/auto-suggest-address',
    operationId: 'suggestAddresses',
    summary: 'Suggest places for a partial address',
    description: "The account's geofences and routes come first.",
    tags,
    bucket,
    query: suggestQuery,
    response: listOf(suggestionResponseSchema),
    handle: async ({ query, context }) => ({ data: await suggestAddresses(deps, getCaller(context), query) }),
  }),
  platformRoute({
    method: 'get',
    path: '/devices/generate-route',
    operationId: 'generateRoute',
    summary: 'Calculate a route to a destination',
    description: 'The route starts at the newest position of the vehicle.',
    tags,
    bucket,
    query: routeQuery,
    response: singleSchema(routeResultResponseSchema),
    errors: { 404: 'The vehicle does not exist or has no position yet, or the address was not found.' },
    handle: async ({ query, context }) => ({ data: await generateRoute(deps, getCaller(context), query) }),
  }),
];
