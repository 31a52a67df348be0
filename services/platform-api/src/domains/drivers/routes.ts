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
import { createDriverBody, driverResponse, listDriversQuery, updateDriverBody } from './schema.ts';
import { createDriver, deleteDriver, listDrivers, readDriver, updateDriver } from './use-cases.ts';

const tags = ['Drivers'];
const duplicateErrors = 'Another driver of the account has this license or card number.';

function toFoundResponse<T>(driver: T | null, id: number): { data: T } {
  if (driver === null) throw new AppError('not_found', `The driver ${id} does not exist.`);
  return { data: driver };
}

export const driverRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/drivers',
    operationId: 'listDrivers',
    summary: 'List drivers',
    description: 'Returns the drivers of the account.',
    tags,
    query: listDriversQuery,
    response: pageSchema(driverResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listDrivers(deps, getCaller(context), query, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/drivers',
    operationId: 'createDriver',
    summary: 'Create a driver',
    description:
      'Assigns the vehicles of `vehicle_ids` to this driver. A vehicle has one driver, its `driver_id`; a driver may have several vehicles.',
    tags,
    isIdempotent: true,
    body: createDriverBody,
    response: singleSchema(driverResponse),
    extraSuccesses: { 201: 'Created; `Location` is the path of the driver.' },
    errors: { 404: 'One of the vehicles does not exist or is not visible to the caller.', 409: duplicateErrors },
    handle: async ({ body, context }) => {
      const driver = await createDriver(deps, getCaller(context), body);
      return new Reply(201, { data: driver }, { Location: `/api/drivers/${driver.id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/drivers/:id',
    operationId: 'getDriver',
    summary: 'Get a driver',
    tags,
    params: idParams,
    response: singleSchema(driverResponse),
    handle: async ({ params, context }) =>
      toFoundResponse(await readDriver(deps, getCaller(context), params.id), params.id),
  }),
  platformRoute({
    method: 'put',
    path: '/drivers/:id',
    operationId: 'updateDriver',
    summary: 'Update a driver',
    description: 'Absent fields are unchanged. Null clears a field. `vehicle_ids` replaces the vehicles of the driver.',
    tags,
    params: idParams,
    body: updateDriverBody,
    response: singleSchema(driverResponse),
    errors: { 409: duplicateErrors, ...versionMismatchErrors },
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return toFoundResponse(await updateDriver(deps, getCaller(context), params.id, body, version), params.id);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/drivers/:id',
    operationId: 'deleteDriver',
    summary: 'Delete a driver',
    description: 'The vehicles of the driver then have no driver.',
    tags,
    params: idParams,
    response: singleSchema(driverResponse),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const version = parseIfMatch(context);
      return toFoundResponse(await deleteDriver(deps, getCaller(context), params.id, version), params.id);
    },
  }),
];
