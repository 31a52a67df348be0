import { pageResponse, pageSchema, parsePagination, singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { listUnassignedQuery, lookupBody, sortFields, unassignedDeviceResponse } from './schema.ts';
import { listUnassignedDevices, lookUpUnassigned } from './use-cases.ts';

const tags = ['Vehicles'];

export const unassignedDeviceRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/unassigned-devices',
    operationId: 'listUnassignedDevices',
    summary: 'List unassigned terminals',
    description:
      'Lists terminals that connect and belong to no vehicle. Available to the operator, and to owners and admins if the installation has one account. Assigning the `imei` to a vehicle removes the terminal from the list. Entries end 30 days after the terminal was last seen.',
    tags,
    access: { permission: 'administration' },
    query: listUnassignedQuery,
    response: pageSchema(unassignedDeviceResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const sorting = toSorting(query.sort ?? '-id', sortFields);
      return pageResponse(await listUnassignedDevices(deps, getCaller(context), sorting, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/unassigned-devices/lookup',
    operationId: 'lookUpUnassignedDevice',
    summary: 'Find an unassigned terminal by number',
    tags,
    access: { permission: 'fleet', scope: 'read' },
    bucket: 'deviceLookup',
    body: lookupBody,
    response: singleSchema(unassignedDeviceResponse),
    errors: { 404: 'No terminal with this number has connected, or it belongs to a vehicle.' },
    handle: async ({ body }) => ({ data: await lookUpUnassigned(deps, body.imei) }),
  }),
];
