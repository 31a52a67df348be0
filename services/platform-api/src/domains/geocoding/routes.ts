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
    summary: 'Address of a position, and the own geofences that hold it',
    description:
      "Providers' addresses are kept for 30 days. The embedded geocoder answers with distance and direction from the nearest city, or the name of the own geofence.",
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
    summary: 'Positions of an address',
    description: 'Empty when nothing fits.',
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
    summary: 'Places to offer while somebody types, own geofences and routes first',
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
    summary: 'A way from where a vehicle is to a destination',
    tags,
    bucket,
    query: routeQuery,
    response: singleSchema(routeResultResponseSchema),
    errors: { 404: 'There is no such vehicle, it has no position yet, or there is no such address.' },
    handle: async ({ query, context }) => ({ data: await generateRoute(deps, getCaller(context), query) }),
  }),
];
