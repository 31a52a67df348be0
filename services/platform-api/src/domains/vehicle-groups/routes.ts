import {
  pageResponse,
  pageSchema,
  parseIfMatch,
  parsePagination,
  Reply,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { idParams } from '../../platform/schemas.ts';
import { createGroup, deleteGroup, updateGroup } from './commands.ts';
import {
  createGroupBody,
  deleteGroupQuery,
  folderResponseSchema,
  groupResponseSchema,
  groupWithSubGroups,
  isOn,
  listGroupsQuery,
  subGroupsQuery,
  updateGroupBody,
} from './schema.ts';
import { folderView, groupNotFound, listGroups, listSubGroups, readGroup } from './use-cases.ts';

const tags = ['Vehicle groups'];
const missing = 'The group or one of the vehicles, geofences or drivers does not exist or is not visible.';
const conflicts =
  'Another group of the same parent has the name (`duplicate`), the group would be inside itself (`group_cycle`), or deeper than 8 levels (`group_depth`).';

export const vehicleGroupRoutes = (deps: Deps): PlatformRoute[] => [...reads(deps), ...writes(deps)];

const reads = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicle-groups',
    operationId: 'listVehicleGroups',
    summary: 'List vehicle groups',
    description:
      'With `folderView=true` the whole tree is returned as folders, without pages: `sort`, `query` and paging are ignored.',
    tags,
    query: listGroupsQuery,
    response: Type.Union([pageSchema(groupResponseSchema), Type.Object({ data: Type.Array(folderResponseSchema) })]),
    handle: async ({ query, context }) => {
      const caller = getCaller(context);
      if (isOn(query.folderView)) return { data: await folderView(deps, caller, isOn(query.populateVehicles)) };
      const paging = parsePagination(query);
      return pageResponse(await listGroups(deps, caller, query, paging), paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/vehicle-groups/:id',
    operationId: 'getVehicleGroup',
    summary: 'Get a vehicle group',
    description: 'Includes the ids of its direct children.',
    tags,
    params: idParams,
    response: singleSchema(groupWithSubGroups),
    handle: async ({ params, context }) => {
      const group = await readGroup(deps, getCaller(context), params.id);
      if (group === null) throw groupNotFound(params.id);
      return { data: group };
    },
  }),
  platformRoute({
    method: 'get',
    path: '/vehicle-groups/:id/list-sub-groups',
    operationId: 'listSubGroups',
    summary: 'List groups below a group',
    description: 'Lists the direct children or, with `recursive=true`, all groups below.',
    tags,
    params: idParams,
    query: subGroupsQuery,
    response: pageSchema(groupResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      const page = await listSubGroups(deps, getCaller(context), params.id, query, paging);
      if (page === null) throw groupNotFound(params.id);
      return pageResponse(page, paging);
    },
  }),
];

const writes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/vehicle-groups',
    operationId: 'createVehicleGroup',
    summary: 'Create a vehicle group',
    tags,
    isIdempotent: true,
    body: createGroupBody,
    response: singleSchema(groupResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the group.' },
    errors: { 404: missing, 409: conflicts },
    handle: async ({ body, context }) => {
      const group = await createGroup(deps, getCaller(context), body);
      return new Reply(201, { data: group }, { Location: `/api/vehicle-groups/${group.id}` });
    },
  }),
  platformRoute({
    method: 'put',
    path: '/vehicle-groups/:id',
    operationId: 'updateVehicleGroup',
    summary: 'Update a vehicle group',
    description:
      '`vehicles` replaces the vehicles of the group. Afterwards, `add_vehicles` are added and `remove_vehicles` are removed.',
    tags,
    params: idParams,
    body: updateGroupBody,
    response: singleSchema(groupResponseSchema),
    errors: { 404: missing, 409: conflicts, ...versionMismatchErrors },
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      const group = await updateGroup(deps, getCaller(context), params.id, body, version);
      if (group === null) throw groupNotFound(params.id);
      return { data: group };
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/vehicle-groups/:id',
    operationId: 'deleteVehicleGroup',
    summary: 'Delete a vehicle group',
    description:
      'Vehicles are not deleted. The groups below move to the parent; a group whose name is taken there gets the suffix ` (2)`.',
    tags,
    params: idParams,
    query: deleteGroupQuery,
    response: singleSchema(groupResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, query, context }) => {
      const options = { isCascade: isOn(query.cascade), expectedVersion: parseIfMatch(context) };
      const group = await deleteGroup(deps, getCaller(context), params.id, options);
      if (group === null) throw groupNotFound(params.id);
      return { data: group };
    },
  }),
];
