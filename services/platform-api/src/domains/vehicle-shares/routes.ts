import { pageResponse, pageSchema, parsePagination, singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { noSubscription } from '../billing/schema.ts';
import { vehicleResponseSchema } from '../vehicles/schema.ts';
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
import { listSharedUsers, listSharedVehicles, searchUser, shareVehicles, unshareVehicles } from './share-vehicles.ts';

const tags = ['Sharing'];
const access = { permission: 'sharing' } as const;

export const sharingRoutes = (deps: Deps): PlatformRoute[] => [...actions(deps), ...lists(deps)];

const actions = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/vehicle/search-user-for-share',
    operationId: 'searchUserForShare',
    summary: 'Find the user with exactly this phone number',
    tags,
    access,
    bucket: 'userSearch',
    body: searchUserBody,
    response: singleSchema(foundUser),
    errors: { 404: 'Nobody has this number.' },
    handle: async ({ body, context }) => ({ data: await searchUser(deps, getCaller(context), body.phone_number) }),
  }),
  platformRoute({
    method: 'post',
    path: '/vehicle/share-vehicles',
    operationId: 'shareVehicles',
    summary: 'Share vehicles with a user; sharing again replaces permissions and expiry',
    tags,
    access,
    isIdempotent: true,
    body: shareBody,
    response: Type.Object({ data: Type.Array(shareResponseSchema) }),
    errors: {
      402: noSubscription,
      404: 'The user or one of the vehicles does not exist, or is not visible to the caller.',
    },
    handle: async ({ body, context }) => ({ data: await shareVehicles(deps, getCaller(context), body) }),
  }),
  platformRoute({
    method: 'post',
    path: '/vehicle/remove-share-vehicles',
    operationId: 'removeShareVehicles',
    summary: 'Take shared vehicles from a user; what was not shared is no fault',
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
    summary: "With whom the account's vehicles are shared",
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
    summary: "The account's vehicles that a user is shown; with the caller's own id, what others show to the caller",
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
