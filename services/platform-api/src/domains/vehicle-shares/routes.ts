import { pageResponse, pageSchema, parsePagination, singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { noSubscription } from '../billing/schema.ts';
import { vehicleResponseSchema } from '../vehicles/schema.ts';
import { listSharedUsers, listSharedVehicles, searchUser, shareVehicles, unshareVehicles } from './commands.ts';
import {
  foundUser,
  removedShares,
  searchUserBody,
  shareBody,
  sharedUser,
  sharedUsersQuery,
  sharedVehiclesQuery,
  shareResponseSchema,
  unshareBody,
  userIdParams,
} from './schema.ts';

const tags = ['Sharing'];
const access = { permission: 'sharing' } as const;

export const sharingRoutes = (deps: Deps): PlatformRoute[] => [...actions(deps), ...lists(deps)];

const actions = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/vehicle/search-user-for-share',
    operationId: 'searchUserForShare',
    summary: 'Find a user by phone number',
    description: 'Only the exact number is found.',
    tags,
    access,
    bucket: 'userSearch',
    body: searchUserBody,
    response: singleSchema(foundUser),
    errors: { 404: 'No user has this number.' },
    handle: async ({ body, context }) => ({ data: await searchUser(deps, getCaller(context), body.phone_number) }),
  }),
  platformRoute({
    method: 'post',
    path: '/vehicle/share-vehicles',
    operationId: 'shareVehicles',
    summary: 'Share vehicles with a user',
    description: 'Sharing a vehicle again replaces permissions and expiry.',
    tags,
    access,
    isIdempotent: true,
    body: shareBody,
    response: Type.Object({ data: Type.Array(shareResponseSchema) }),
    errors: {
      402: noSubscription,
      404: 'The user or one of the vehicles does not exist or is not visible to the caller.',
    },
    handle: async ({ body, context }) => ({ data: await shareVehicles(deps, getCaller(context), body) }),
  }),
  platformRoute({
    method: 'post',
    path: '/vehicle/remove-share-vehicles',
    operationId: 'removeShareVehicles',
    summary: 'Stop sharing vehicles',
    description: 'Vehicles that are not shared with the user are ignored.',
    tags,
    access,
    body: unshareBody,
    response: singleSchema(removedShares),
    handle: async ({ body, context }) => ({
      data: { removed: await unshareVehicles(deps, getCaller(context), body) },
    }),
  }),
];

const lists = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicle/get-shared-users',
    operationId: 'listSharedUsers',
    summary: 'List users with shared vehicles',
    tags,
    query: sharedUsersQuery,
    response: pageSchema(sharedUser),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listSharedUsers(deps, getCaller(context), query, paging), paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/vehicle/shared-vehicles/:userId',
    operationId: 'listSharedVehicles',
    summary: 'List vehicles shared with a user',
    description:
      "Lists vehicles of the account. With the caller's own id, lists the vehicles that others share with the caller.",
    tags,
    params: userIdParams,
    query: sharedVehiclesQuery,
    response: pageSchema(vehicleResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listSharedVehicles(deps, getCaller(context), params.userId, query, paging), paging);
    },
  }),
];
