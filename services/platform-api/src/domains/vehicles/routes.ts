import {
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
import { vehicleIdParams } from '../../platform/schemas.ts';
import { changeOwner, createVehicle, deleteVehicle, readVehicle, updateVehicle } from './commands.ts';
import type { VehicleHooks } from './hooks.ts';
import { importBody, importResponse } from './import-schema.ts';
import { importVehicles } from './import-vehicles.ts';
import { createVehicleBody, listVehiclesQuery, ownerBody, updateVehicleBody, vehicleResponseSchema } from './schema.ts';
import { listVehicles } from './use-cases.ts';

const tags = ['Vehicles'];
const duplicate = 'The vehicle number is taken in the account, or the terminal belongs to another vehicle.';
const missing = 'The vehicle, driver or group does not exist or is not visible to the caller.';

/** Returns the routes of vehicles. `hooks` contains the work of other domains after changes of a vehicle. */
export const vehicleRoutes = (deps: Deps, hooks: VehicleHooks): PlatformRoute[] => [
  ...collection(deps, hooks),
  importRoute(deps, hooks),
  ...single(deps, hooks),
];

const collection = (deps: Deps, hooks: VehicleHooks): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles',
    operationId: 'listVehicles',
    summary: 'List vehicles',
    description: 'Returns the vehicles of the account and the vehicles shared with the caller.',
    tags,
    query: listVehiclesQuery,
    response: pageSchema(vehicleResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listVehicles(deps, getCaller(context), query, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/vehicles',
    operationId: 'createVehicle',
    summary: 'Create a vehicle',
    description: 'The terminal becomes known, and the caller becomes the owning user of the vehicle.',
    tags,
    isIdempotent: true,
    body: createVehicleBody,
    response: singleSchema(vehicleResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the vehicle.' },
    errors: { 404: missing, 409: duplicate },
    handle: async ({ body, context }) => {
      const vehicle = await createVehicle(deps, getCaller(context), body, hooks, context.requestId);
      return new Reply(201, { data: vehicle }, { Location: `/api/vehicles/${vehicle.id}` });
    },
  }),
];

const importRoute = (deps: Deps, hooks: VehicleHooks): PlatformRoute =>
  platformRoute({
    method: 'post',
    path: '/vehicles/import',
    operationId: 'importVehicles',
    summary: 'Import vehicles',
    description:
      'Creates or updates one vehicle for each row, by its number. A row with a fault does not prevent the others. Repeating an import has the same result.',
    tags,
    isIdempotent: true,
    body: importBody,
    response: singleSchema(importResponse),
    handle: async ({ body, context }) => ({ data: await importVehicles(deps, getCaller(context), body.rows, hooks) }),
  });

const single = (deps: Deps, hooks: VehicleHooks): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId',
    operationId: 'getVehicle',
    summary: 'Get a vehicle',
    tags,
    params: vehicleIdParams,
    response: singleSchema(vehicleResponseSchema),
    handle: async ({ params, context }) => ({
      data: await readVehicle(deps, getCaller(context), params.vehicleId, context.requestId),
    }),
  }),
  platformRoute({
    method: 'put',
    path: '/vehicles/:vehicleId',
    operationId: 'updateVehicle',
    summary: 'Change a vehicle',
    description:
      'Absent fields stay unchanged; null clears a field or resets it to its default; lists are replaced completely.',
    tags,
    params: vehicleIdParams,
    body: updateVehicleBody,
    response: singleSchema(vehicleResponseSchema),
    errors: { 404: missing, 409: duplicate, ...versionMismatchErrors },
    handle: async ({ params, body, context }) => ({
      data: await updateVehicle(deps, getCaller(context), params.vehicleId, body, hooks, parseIfMatch(context)),
    }),
  }),
  platformRoute({
    method: 'delete',
    path: '/vehicles/:vehicleId',
    operationId: 'deleteVehicle',
    summary: 'Delete a vehicle',
    description: 'Sessions, streams, shares and links of the vehicle end; its history stays until its retention ends.',
    tags,
    params: vehicleIdParams,
    response: singleSchema(vehicleResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => ({
      data: await deleteVehicle(deps, getCaller(context), params.vehicleId, hooks, parseIfMatch(context)),
    }),
  }),
  platformRoute({
    method: 'put',
    path: '/vehicles/:vehicleId/owner',
    operationId: 'changeVehicleOwner',
    summary: 'Set the owner of a vehicle',
    description: 'The webhooks and preferences of the owning user apply to the vehicle.',
    tags,
    access: { permission: 'administration' },
    params: vehicleIdParams,
    body: ownerBody,
    response: singleSchema(vehicleResponseSchema),
    errors: { 404: 'The vehicle does not exist, or the account has no such user.', ...versionMismatchErrors },
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return { data: await changeOwner(deps, getCaller(context), params.vehicleId, body.owner_user_id, version) };
    },
  }),
];
