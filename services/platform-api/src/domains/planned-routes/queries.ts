import type { Caller } from '../../access/caller.ts';
import { boundsOverlap, computeBounds } from '../../geometry/bounds.ts';
import type { Position } from '../../geometry/positions.ts';
import { toPairs } from '../../platform/coordinates.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { StoredRoute } from './schema.ts';
import { routeCollection } from './store.ts';
import { visibilityFilter } from './visibility.ts';

/** Queries and updates of routes for other domains. */

type QueryDeps = { readonly records: RecordStore };

/** A named position of a route: the route itself, or a waypoint. */
interface NamedPosition {
  readonly id: string;
  readonly name: string;
  readonly routeName: string | null;
  readonly position: Position;
}

/** Returns the names of the routes that the caller may see, and of their waypoints. */
export async function listNamedPositions(deps: QueryDeps, caller: Caller): Promise<NamedPosition[]> {
  const where = await visibilityFilter(deps, caller);
  const routes = await routeCollection(deps.records).project(caller, ['name', 'waypoints', 'points'], where);
  return routes.flatMap(({ _id, name, waypoints, points }) => {
    const [latitude = 0, longitude = 0] = points;
    const namedWaypoints = waypoints.flatMap((waypoint, at): NamedPosition[] =>
      waypoint.name === null || waypoint.name === ''
        ? []
        : [
            {
              id: `waypoint:${_id}:${at}`,
              name: waypoint.name,
              routeName: name,
              position: [waypoint.lat, waypoint.lng],
            },
          ],
    );
    return [{ id: `route:${_id}`, name, routeName: null, position: [latitude, longitude] }, ...namedWaypoints];
  });
}

/** Returns the paths of the account's routes near some positions. Straight lines are not roads and are left out. */
export async function listPathsNear(
  { records }: QueryDeps,
  { accountId }: Scope,
  positions: readonly Position[],
  withinM: number,
): Promise<Position[][]> {
  const area = computeBounds(positions, withinM);
  const routes = await routeCollection(records).project({ accountId }, ['points', 'bounds'], {
    pathSource: { $ne: 'straight_line' },
    'bounds.minLat': { $lte: area.maxLat },
    'bounds.maxLat': { $gte: area.minLat },
  });
  return routes.filter(({ bounds }) => boundsOverlap(bounds, area)).map(({ points }) => toPairs(points));
}

/** Returns the path of a route that the caller may see, or null. */
export async function readRoutePath(deps: QueryDeps, caller: Caller, id: number): Promise<Position[] | null> {
  const where = { $and: [{ _id: id }, await visibilityFilter(deps, caller)] };
  const route = await routeCollection(deps.records).findOne(caller, where);
  return route === null ? null : toPairs(route.points);
}

/** Returns the active routes of an account, by the vehicles that they are linked to. */
export async function listActiveRoutesByVehicle(
  { records }: QueryDeps,
  { accountId }: Scope,
): Promise<Map<number, StoredRoute[]>> {
  const byVehicle = new Map<number, StoredRoute[]>();
  for (const route of await routeCollection(records).all({ accountId }, { active: true }))
    for (const id of route.vehicleIds) byVehicle.set(id, [...(byVehicle.get(id) ?? []), route]);
  return byVehicle;
}

/** Unlinks all routes from a deleted vehicle. */
export async function unlinkVehicle({ records }: QueryDeps, scope: Scope, id: number): Promise<void> {
  await routeCollection(records).updateMany(scope, { vehicleIds: id }, { $pull: { vehicleIds: id } });
}
