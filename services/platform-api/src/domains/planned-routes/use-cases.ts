import type { Page, Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Profile } from '../../maps/providers.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { type Change, type Filter, substringFilter } from '../../store/account-repository.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { createNamingCheck } from '../vehicles/visibility.ts';
import { toRouteResponse } from './responses.ts';
import {
  createPath,
  isCurrentLine,
  mustRedraw,
  type Path,
  parseLine,
  requireWaypoints,
  routeDefaults,
  toRouteChange,
  validateWaypoints,
} from './rules.ts';
import { type ListRoutesQuery, type RouteBody, type RouteResponse, type StoredRoute, sortFields } from './schema.ts';
import { routeCollection } from './store.ts';
import { ownVehiclesFilter, visibilityFilter } from './visibility.ts';

type RouteDeps = Pick<Deps, 'records' | 'log' | 'maps'>;

/** Returns a page of the routes that the caller may see. */
export async function listRoutes(
  deps: RouteDeps,
  caller: Caller,
  query: ListRoutesQuery,
  paging: Pagination,
): Promise<Page<RouteResponse>> {
  const { items, total } = await routeCollection(deps.records).list(caller, {
    where: { $and: [await visibilityFilter(deps, caller), ...(await createFilters(deps, caller, query))] },
    sorting: toSorting(query.sort, sortFields),
    paging,
  });
  const canNameVehicle = await createNamingCheck(deps, caller);
  return { items: items.map((route) => toRouteResponse(route, canNameVehicle)), total };
}

async function createFilters(deps: RouteDeps, caller: Caller, query: ListRoutesQuery): Promise<Filter[]> {
  const filters = [substringFilter(query.query, ['name', 'description'])];
  if (query.active !== undefined) filters.push({ active: query.active });
  if (query.vehicle_id !== undefined) filters.push(await ownVehiclesFilter(deps, caller, [query.vehicle_id]));
  return filters;
}

async function findRoute(deps: RouteDeps, caller: Caller, id: number): Promise<StoredRoute | null> {
  const where = { $and: [{ _id: id }, await visibilityFilter(deps, caller)] };
  return routeCollection(deps.records).findOne(caller, where);
}

/** Returns a route that the caller may see, or null. */
export async function readRoute(deps: RouteDeps, caller: Caller, id: number): Promise<RouteResponse | null> {
  const route = await findRoute(deps, caller, id);
  return route === null ? null : toRouteResponse(route, await createNamingCheck(deps, caller));
}

export async function createRoute(
  deps: RouteDeps,
  caller: Caller,
  body: RouteBody & { name: string },
): Promise<RouteResponse> {
  validateWaypoints(body);
  const fields = { ...routeDefaults, ...toRouteChange(body), name: body.name };
  const line = parseLine(body);
  const path =
    line === null
      ? await drawPath(deps, requireWaypoints(fields.waypoints), fields.profile)
      : createPath(line, 'client');
  const route = await routeCollection(deps.records).insert(caller, { ...fields, ...path });
  await audit(deps, caller, 'routes.create', { type: 'routes', id: route._id }, { name: route.name });
  return toRouteResponse(route);
}

async function drawPath({ maps }: RouteDeps, waypoints: readonly Position[], profile: Profile): Promise<Path> {
  const { value } = await maps.route({ waypoints, profile, alternatives: 0 });
  const [route] = value;
  if (route === undefined) throw new Error('the fallback router returned no route');
  return createPath(route.path, route.source, route);
}

/** Updates a route; returns null if it does not exist. */
export const updateRoute = (
  deps: RouteDeps,
  caller: Caller,
  id: number,
  body: RouteBody,
  expectedVersion: number | undefined,
): Promise<RouteResponse | null> =>
  updateWithVersion(expectedVersion, async () => {
    const routes = routeCollection(deps.records);
    const existing = await routes.find(caller, id);
    if (existing === null) return null;
    const { change, dependsOnPath } = await createChange(deps, body, existing);
    // A path belongs to the waypoints and the profile with which it was drawn. It is therefore written to the version
    // that was read.
    const route = await routes.update(
      caller,
      id,
      change,
      expectedVersion ?? (dependsOnPath ? existing.version : undefined),
    );
    if (route === null) return null;
    await audit(deps, caller, 'routes.update', { type: 'routes', id }, { fields: Object.keys(body) });
    return toRouteResponse(route);
  });

async function createChange(
  deps: RouteDeps,
  body: RouteBody,
  existing: StoredRoute,
): Promise<{ change: Change<StoredRoute>; dependsOnPath: boolean }> {
  validateWaypoints(body);
  const details = toRouteChange(body);
  const line = parseLine(body);
  if (line !== null) {
    const path = isCurrentLine(existing, line) ? {} : createPath(line, 'client');
    return { change: { ...details, ...path }, dependsOnPath: true };
  }
  if (!mustRedraw(body, existing)) return { change: details, dependsOnPath: body.profile !== undefined };
  const { waypoints, profile } = { ...existing, ...details };
  return {
    change: { ...details, ...(await drawPath(deps, requireWaypoints(waypoints), profile)) },
    dependsOnPath: true,
  };
}

/** Deletes a route with its links; returns the deleted route, or null. */
export async function deleteRoute(
  deps: RouteDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<RouteResponse | null> {
  const route = await routeCollection(deps.records).remove(caller, id, { expectedVersion });
  if (route === null) return null;
  await audit(deps, caller, 'routes.delete', { type: 'routes', id });
  return toRouteResponse(route);
}
