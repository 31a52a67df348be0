import {
  AppError,
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import { createGeofenceBody, geofenceResponseSchema, listGeofencesQuery, updateGeofenceBody } from './schema.ts';
import { createGeofence, deleteGeofence, listGeofences, readGeofence, updateGeofence } from './use-cases.ts';

const tags = ['Geofences'];
const missing = 'The geofence, or one of the vehicles or groups, does not exist or is not visible.';

function orNotFound<T>(geofence: T | null, id: number): { data: T } {
  if (geofence === null) throw new AppError('not_found', `There is no geofence ${id}.`);
  return { data: geofence };
}

export const geofenceRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/geofences',
    operationId: 'listGeofences',
    summary: 'List geofences',
    tags,
    query: listGeofencesQuery,
    response: pageSchema(geofenceResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listGeofences(deps, getCaller(context), query, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/geofences',
    operationId: 'createGeofence',
    summary: 'Create a geofence',
    description: 'Without `vehicles` and `groups`, the geofence applies to every vehicle of the account.',
    tags,
    isIdempotent: true,
    body: createGeofenceBody,
    response: singleSchema(geofenceResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the geofence.' },
    errors: {
      404: 'One of the vehicles or groups does not exist or is not visible.',
      409: 'The account has reached its geofence limit.',
    },
    handle: async ({ body, context }) => {
      const geofence = await createGeofence(deps, getCaller(context), body);
      return new Reply(201, { data: geofence }, { Location: `/api/geofences/${geofence.id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/geofences/:id',
    operationId: 'getGeofence',
    summary: 'Get a geofence',
    tags,
    params: idParams,
    response: singleSchema(geofenceResponseSchema),
    handle: async ({ params, context }) =>
      orNotFound(await readGeofence(deps, getCaller(context), params.id), params.id),
  }),
  platformRoute({
    method: 'put',
    path: '/geofences/:id',
    operationId: 'updateGeofence',
    summary: 'Change a geofence',
    description:
      'Absent fields stay unchanged; null clears a field; lists are replaced. A different `type` requires the size field of that type.',
    tags,
    params: idParams,
    body: updateGeofenceBody,
    response: singleSchema(geofenceResponseSchema),
    errors: { 404: missing, ...versionMismatchErrors },
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return orNotFound(await updateGeofence(deps, getCaller(context), params.id, body, version), params.id);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/geofences/:id',
    operationId: 'deleteGeofence',
    summary: 'Delete a geofence',
    tags,
    params: idParams,
    response: singleSchema(geofenceResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const version = parseIfMatch(context);
      return orNotFound(await deleteGeofence(deps, getCaller(context), params.id, version), params.id);
    },
  }),
];
