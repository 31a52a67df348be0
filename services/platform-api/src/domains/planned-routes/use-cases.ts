import type { Page, Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Profile } from '../../maps/providers.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { type Change, type Filter, substringFilter } from '../../store/account-repository.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { namedTo } from '../vehicles/visibility.ts';
import { toRouteResponse } from './responses.ts';
import {
  checkWaypoints,
  detailsOf,
  drawnThrough,
  givenLine,
  isDrawnAgain,
  isLineOf,
  type Path,
  pathOf,
  routeDefaults,
} from './rules.ts';
import { type ListRoutesQuery, type RouteBody, type RouteResponse, type StoredRoute, sortFields } from './schema.ts';
import { routesIn } from './store.ts';
import { ofOwnVehicles, visiblePart } from './visibility.ts';

type Parts = Pick<Deps, 'records' | 'log' | 'maps'>;

/** Returns a page of the routes that the caller may see. */
export async function listRoutes(
  deps: Parts,
  caller: Caller,
  query: ListRoutesQuery,
  paging: Pagination,
): Promise<Page<RouteResponse>> {
  const { items, total } = await routesIn(deps.records).list(caller, {
    where: { $and: [await visiblePart(deps, caller), ...(await filtersOf(deps, caller, query))] },
    sorting: toSorting(query.sort, sortFields),
    paging,
  });
  const isNamed = await namedTo(deps, caller);
  return { items: items.map((route) => toRouteResponse(route, isNamed)), total };
}

async function filtersOf(deps: Parts, caller: Caller, query: ListRoutesQuery): Promise<Filter[]> {
  const filters = [substringFilter(query.query, ['name', 'description'])];
  if (query.active !== undefined) filters.push({ active: query.active });
  if (query.vehicle_id !== undefined) filters.push(await ofOwnVehicles(deps, caller, [query.vehicle_id]));
  return filters;
}

async function findRoute(deps: Parts, caller: Caller, id: number): Promise<StoredRoute | null> {
  const where = { $and: [{ _id: id }, await visiblePart(deps, caller)] };
  return routesIn(deps.records).findOne(caller, where);
}

/** Returns a route that the caller may see, or null. */
export async function readRoute(deps: Parts, caller: Caller, id: number): Promise<RouteResponse | null> {
  const route = await findRoute(deps, caller, id);
  return route === null ? null : toRouteResponse(route, await namedTo(deps, caller));
}

export async function createRoute(
  deps: Parts,
  caller: Caller,
  body: RouteBody & { name: string },
): Promise<RouteResponse> {
  checkWaypoints(body);
  const fields = { ...routeDefaults, ...detailsOf(body), name: body.name };
  const line = givenLine(body);
  const path =
    line === null ? await drawn(deps, drawnThrough(fields.waypoints), fields.profile) : pathOf(line, 'client');
  const route = await routesIn(deps.records).insert(caller, { ...fields, ...path });
  await audit(deps, caller, 'routes.create', { type: 'routes', id: route._id }, { name: route.name });
  return toRouteResponse(route);
}

async function drawn({ maps }: Parts, waypoints: readonly Position[], profile: Profile): Promise<Path> {
  const { value } = await maps.route({ waypoints, profile, alternatives: 0 });
  const [route] = value;
  if (route === undefined) throw new Error('the fallback router returned no route');
  return pathOf(route.path, route.source, route);
}

/** Updates a route; returns null if it does not exist. */
export const updateRoute = (
  deps: Parts,
  caller: Caller,
  id: number,
  body: RouteBody,
  expectedVersion: number | undefined,
): Promise<RouteResponse | null> =>
  updateWithVersion(expectedVersion, async () => {
    const routes = routesIn(deps.records);
    const known = await routes.find(caller, id);
    if (known === null) return null;
    const { change, isOfPath } = await checkedChange(deps, body, known);
    // A path belongs to the waypoints and the profile with which it was drawn. It is therefore written to the version
    // that was read.
    const route = await routes.update(caller, id, change, expectedVersion ?? (isOfPath ? known.version : undefined));
    if (route === null) return null;
    await audit(deps, caller, 'routes.update', { type: 'routes', id }, { fields: Object.keys(body) });
    return toRouteResponse(route);
  });

async function checkedChange(
  deps: Parts,
  body: RouteBody,
  known: StoredRoute,
): Promise<{ change: Change<StoredRoute>; isOfPath: boolean }> {
  checkWaypoints(body);
  const details = detailsOf(body);
  const line = givenLine(body);
  if (line !== null) {
    const path = isLineOf(known, line) ? {} : pathOf(line, 'client');
    return { change: { ...details, ...path }, isOfPath: true };
  }
  if (!isDrawnAgain(body, known)) return { change: details, isOfPath: body.profile !== undefined };
  const { waypoints, profile } = { ...known, ...details };
  return { change: { ...details, ...(await drawn(deps, drawnThrough(waypoints), profile)) }, isOfPath: true };
}

/** Deletes a route with its links; returns the deleted route, or null. */
export async function deleteRoute(
  deps: Parts,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<RouteResponse | null> {
  const route = await routesIn(deps.records).remove(caller, id, { expectedVersion });
  if (route === null) return null;
  await audit(deps, caller, 'routes.delete', { type: 'routes', id });
  return toRouteResponse(route);
}
