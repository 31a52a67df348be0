import { type Page, type Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound, toSorting } from '../../platform/fields.ts';
import type { Scope } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { findLastLocations } from '../last-positions/queries.ts';
import { readStatesOfRedis } from '../vehicle-states/queries.ts';
import { ownVehicleIds } from '../vehicles/assignments.ts';
import { assertOwnVehicle, createNamingCheck, vehicleNotFound, visibleVehicle } from '../vehicles/visibility.ts';
import { progressFromState, type RouteState, routeRuleName } from './progress.ts';
import { unlinkVehicle } from './queries.ts';
import { toProgressResponse, toRouteResponse } from './responses.ts';
import { estimateProgress } from './rules.ts';
import { type LinkedRoutesQuery, type ProgressResponse, type RouteResponse, sortFields } from './schema.ts';
import { routeCollection } from './store.ts';

type RouteDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log'>;

/** The routes of a vehicle after a change. */
interface RouteLinks {
  readonly vehicle_id: number;
  readonly route_ids: number[];
}

/** Links routes to a vehicle. Throws 404 for an unknown route and changes nothing. */
export async function linkRoutes(
  deps: RouteDeps,
  caller: Caller,
  vehicleId: number,
  ids: readonly number[],
): Promise<RouteLinks> {
  await assertLinkable(deps, caller, vehicleId, ids);
  const where = { _id: { $in: [...ids] }, vehicleIds: { $ne: vehicleId } };
  await routeCollection(deps.records).updateMany(caller, where, { $addToSet: { vehicleIds: vehicleId } });
  await audit(deps, caller, 'routes.link', { type: 'vehicles', id: vehicleId }, { route_ids: ids });
  // The vehicle was deleted concurrently, and the deletion has not seen these links.
  if ((await ownVehicleIds(deps, caller, [vehicleId])).length === 0) {
    await unlinkVehicle(deps, caller, vehicleId);
    throw vehicleNotFound(vehicleId);
  }
  return readLinks(deps, caller, vehicleId);
}

/** Removes links; ignores those that do not exist. */
export async function unlinkRoutes(
  deps: RouteDeps,
  caller: Caller,
  vehicleId: number,
  ids: readonly number[],
): Promise<RouteLinks> {
  await assertLinkable(deps, caller, vehicleId, ids);
  const where = { _id: { $in: [...ids] }, vehicleIds: vehicleId };
  await routeCollection(deps.records).updateMany(caller, where, { $pull: { vehicleIds: vehicleId } });
  await audit(deps, caller, 'routes.unlink', { type: 'vehicles', id: vehicleId }, { route_ids: ids });
  return readLinks(deps, caller, vehicleId);
}

async function assertLinkable(
  deps: RouteDeps,
  caller: Caller,
  vehicleId: number,
  ids: readonly number[],
): Promise<void> {
  await assertOwnVehicle(deps, caller, vehicleId);
  const found = await routeCollection(deps.records).project(caller, [], { _id: { $in: [...ids] } });
  assertAllFound(
    'route',
    ids,
    found.map(({ _id }) => _id),
  );
}

async function readLinks({ records }: RouteDeps, { accountId }: Scope, vehicleId: number): Promise<RouteLinks> {
  const linked = await routeCollection(records).project({ accountId }, [], { vehicleIds: vehicleId });
  return { vehicle_id: vehicleId, route_ids: linked.map(({ _id }) => _id).sort((a, b) => a - b) };
}

/** Returns a page of a vehicle's routes, with its progress on each. */
export async function listLinkedRoutes(
  deps: RouteDeps,
  caller: Caller,
  vehicleId: number,
  { sort }: LinkedRoutesQuery,
  paging: Pagination,
  nowMs = Date.now(),
): Promise<Page<RouteResponse & { progress: ProgressResponse }>> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId);
  // A caller with a shared vehicle sees no routes of the owning account.
  const { items, total } = await routeCollection(deps.records).list(caller, {
    where: { vehicleIds: vehicleId },
    sorting: toSorting(sort, sortFields),
    paging,
  });
  const { imei } = vehicle;
  const location = imei === null ? undefined : (await findLastLocations(deps, [imei])).get(imei);
  const state = imei === null ? undefined : await readRouteState(deps, imei, vehicleId);
  const canNameVehicle = await createNamingCheck(deps, caller);
  const response = items.map((route) => {
    const estimated =
      location?.gpsValid === true ? estimateProgress(route, [location.latitude, location.longitude]) : null;
    // Where a path passes a position twice, only the rule knows which pass it is.
    return {
      ...toRouteResponse(route, canNameVehicle),
      progress: toProgressResponse(progressFromState(route, state) ?? estimated, nowMs),
    };
  });
  return { items: response, total };
}

async function readRouteState(deps: RouteDeps, imei: string, vehicleId: number): Promise<RouteState | undefined> {
  try {
    const state = (await readStatesOfRedis(deps, [imei])).get(imei);
    return state?.vehicleId === vehicleId ? (state.rules[routeRuleName] as RouteState | undefined) : undefined;
  } catch (error) {
    deps.log.warn({ err: error }, 'could not read the progress on routes');
    return undefined;
  }
}
