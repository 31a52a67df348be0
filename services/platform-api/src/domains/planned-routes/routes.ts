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
import { idParams, vehicleIdParams } from '../../platform/schemas.ts';
import { linkRoutes, listLinkedRoutes, unlinkRoutes } from './links.ts';
import {
  createRouteBody,
  linkBody,
  linkedRouteResponseSchema,
  linkedRoutesQuery,
  linksResponseSchema,
  listRoutesQuery,
  routeResponseSchema,
  snapBody,
  snapResponseSchema,
  updateRouteBody,
} from './schema.ts';
import { snapToRoad } from './snap.ts';
import { createRoute, deleteRoute, listRoutes, readRoute, updateRoute } from './use-cases.ts';

const tags = ['Routes'];
const notLinkable = 'The vehicle or one of the routes does not exist or is not visible. Nothing has changed.';
const snapLimitMs = 60_000;

function orNotFound<T>(route: T | null, id: number): { data: T } {
  if (route === null) throw new AppError('not_found', `There is no route ${id}.`);
  return { data: route };
}

export const plannedRouteRoutes = (deps: Deps): PlatformRoute[] => [...records(deps), ...links(deps), snap(deps)];

const records = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/routes',
    operationId: 'listRoutes',
    summary: 'List routes',
    tags,
    query: listRoutesQuery,
    response: pageSchema(routeResponseSchema),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listRoutes(deps, getCaller(context), query, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/routes',
    operationId: 'createRoute',
    summary: 'Create a route',
    description: 'Requires `path` or `polyline`, or `waypoints` through which the routing provider draws the path.',
    tags,
    isIdempotent: true,
    body: createRouteBody,
    response: singleSchema(routeResponseSchema),
    extraSuccesses: { 201: 'Created; `Location` is the path of the route.' },
    handle: async ({ body, context }) => {
      const route = await createRoute(deps, getCaller(context), body);
      return new Reply(201, { data: route }, { Location: `/api/routes/${route.id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/routes/:id',
    operationId: 'getRoute',
    summary: 'Get a route',
    tags,
    params: idParams,
    response: singleSchema(routeResponseSchema),
    handle: async ({ params, context }) => orNotFound(await readRoute(deps, getCaller(context), params.id), params.id),
  }),
  platformRoute({
    method: 'put',
    path: '/routes/:id',
    operationId: 'updateRoute',
    summary: 'Update a route',
    description:
      'Absent fields do not change; null clears a field. Changing the waypoints without a path redraws the path.',
    tags,
    params: idParams,
    body: updateRouteBody,
    response: singleSchema(routeResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, body, context }) => {
      const version = parseIfMatch(context);
      return orNotFound(await updateRoute(deps, getCaller(context), params.id, body, version), params.id);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/routes/:id',
    operationId: 'deleteRoute',
    summary: 'Delete a route',
    description: 'Also removes its links to vehicles.',
    tags,
    params: idParams,
    response: singleSchema(routeResponseSchema),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => {
      const version = parseIfMatch(context);
      return orNotFound(await deleteRoute(deps, getCaller(context), params.id, version), params.id);
    },
  }),
];

const links = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/list-linked-routes',
    operationId: 'listLinkedRoutes',
    summary: 'List routes of a vehicle',
    description: 'Each route has the progress of the vehicle on it.',
    tags,
    params: vehicleIdParams,
    query: linkedRoutesQuery,
    response: pageSchema(linkedRouteResponseSchema),
    handle: async ({ params, query, context }) => {
      const paging = parsePagination(query);
      return pageResponse(await listLinkedRoutes(deps, getCaller(context), params.vehicleId, query, paging), paging);
    },
  }),
  platformRoute({
    method: 'post',
    path: '/vehicles/:vehicleId/link-route',
    operationId: 'linkRoutes',
    summary: 'Link routes to a vehicle',
    description: 'Routes that are already linked are ignored.',
    tags,
    params: vehicleIdParams,
    body: linkBody,
    response: singleSchema(linksResponseSchema),
    errors: { 404: notLinkable },
    handle: async ({ params, body, context }) => ({
      data: await linkRoutes(deps, getCaller(context), params.vehicleId, body.route_ids),
    }),
  }),
  platformRoute({
    method: 'post',
    path: '/vehicles/:vehicleId/unlink-route',
    operationId: 'unlinkRoutes',
    summary: 'Unlink routes from a vehicle',
    description: 'Routes that are not linked are ignored.',
    tags,
    params: vehicleIdParams,
    body: linkBody,
    response: singleSchema(linksResponseSchema),
    errors: { 404: notLinkable },
    handle: async ({ params, body, context }) => ({
      data: await unlinkRoutes(deps, getCaller(context), params.vehicleId, body.route_ids),
    }),
  }),
];

const snap = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'post',
    path: '/routes/snap-to-road',
    operationId: 'snapToRoad',
    summary: 'Match positions to roads',
    description:
      "A point without a road within reach is returned unchanged with `matched: false`. Where no roads are known, the account's own routes count as roads.",
    tags,
    access: { permission: 'read', scope: 'read' },
    bucket: 'geocode',
    timeoutMs: snapLimitMs,
    body: snapBody,
    response: singleSchema(snapResponseSchema),
    handle: async ({ body, context }) => ({ data: await snapToRoad(deps, getCaller(context), body) }),
  });
