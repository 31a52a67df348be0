import { pairs } from '../../coordinates.ts';
import { boundsOf, overlap } from '../../geometry/bounds.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import { routesIn } from './store.ts';

/** What other domains ask of routes, and tell them. */

type Store = { readonly records: Records };

/** A name on a route: its own, or a waypoint's. */
export interface RoutePlace {
  readonly id: string;
  readonly name: string;
  readonly routeName: string | null;
  readonly position: Position;
}

/** The names of the account's routes and of their waypoints. */
export async function routePlaces({ records }: Store, { accountId }: Scope): Promise<RoutePlace[]> {
  const routes = await routesIn(records).parts({ accountId }, ['name', 'waypoints', 'points']);
  return routes.flatMap(({ _id, name, waypoints, points }) => {
    const [latitude = 0, longitude = 0] = points;
    const named = waypoints.flatMap((waypoint, at): RoutePlace[] =>
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
    return [{ id: `route:${_id}`, name, routeName: null, position: [latitude, longitude] }, ...named];
  });
}

/** Paths of the account's routes near some positions; straight lines are no roads and are left out. */
export async function pathsNear(
  { records }: Store,
  { accountId }: Scope,
  positions: readonly Position[],
  withinM: number,
): Promise<Position[][]> {
  const around = boundsOf(positions, withinM);
  const routes = await routesIn(records).parts({ accountId }, ['points', 'bounds'], {
    pathSource: { $ne: 'straight_line' },
    'bounds.minLat': { $lte: around.maxLat },
    'bounds.maxLat': { $gte: around.minLat },
  });
  return routes.filter(({ bounds }) => overlap(bounds, around)).map(({ points }) => pairs(points));
}

/** The path of a route of the account, or null. */
export async function pathOfRoute({ records }: Store, { accountId }: Scope, id: number): Promise<Position[] | null> {
  const route = await routesIn(records).find({ accountId }, id);
  return route === null ? null : pairs(route.points);
}

/** A vehicle is deleted: no route is linked to it any more. */
export async function dropVehicleFromRoutes({ records }: Store, scope: Scope, id: number): Promise<void> {
  await routesIn(records).updateMany(scope, { vehicleIds: id }, { $pull: { vehicleIds: id } });
}
