import type { LimitFunction } from 'p-limit';
import { bothEnds, joinLines } from '../../geometry/lines.ts';
import { bearingDeg, compassPoint, distanceM, type Position } from '../../geometry/positions.ts';
import type { DrawnRoute, Profile, RouteQuery, Router, RouteStep } from '../providers.ts';
import type { OnRoad, RoadNetwork, Segment } from './road-network.ts';
import { SearchBudget } from './search-budget.ts';
import { searchLimit } from './search-limit.ts';
import { type Cost, type Driven, findPaths } from './shortest-path.ts';

/** Ratio of the road distance to the great circle distance, and the driving speed, where no road is known. */
const detour = 1.3;
const assumedKmh = 40;
/** Speed on roads whose limit is not in the file; maximum speed of trucks on all roads. */
const defaultKmh = 50;
const truckKmh = 80;
/** A waypoint further than this from any road is not on the network. */
const accessM = 1_000;
const crossingM = 0.5;

/** Draws routes over the roads of a file, or great circles where there is no road. */
export class EmbeddedRouter implements Router {
  readonly name = 'embedded';
  readonly #network: () => Promise<RoadNetwork>;
  readonly #limit: LimitFunction;

  constructor(network: () => Promise<RoadNetwork>, limit = searchLimit()) {
    this.#network = network;
    this.#limit = limit;
  }

  async route({ waypoints, profile }: RouteQuery): Promise<DrawnRoute[]> {
    const network = await this.#network();
    // The time includes the wait for other searches.
    const budget = new SearchBudget();
    const found = await this.#limit(() => overRoads(network, waypoints, profile, budget));
    return [found ?? straightLine(waypoints)];
  }
}

function speedOf({ road }: Segment, profile: Profile): number {
  const limit = road.maxSpeedKmh ?? defaultKmh;
  return profile === 'truck' ? Math.min(limit, truckKmh) : limit;
}

/** Returns the cost in seconds. */
const byTime = (profile: Profile, fastestKmh: number): Cost => ({
  of: (segment, lengthM) => (lengthM * 3.6) / speedOf(segment, profile),
  atLeast: (lengthM) => (lengthM * 3.6) / fastestKmh,
  limit: Number.POSITIVE_INFINITY,
});

/** Returns null if a waypoint is far from all roads, or no route connects two of them. */
async function overRoads(
  network: RoadNetwork,
  waypoints: readonly Position[],
  profile: Profile,
  budget: SearchBudget,
): Promise<DrawnRoute | null> {
  const cost = byTime(profile, Math.max(defaultKmh, network.fastestKmh ?? 0));
  const stops: OnRoad[] = [];
  for (const waypoint of waypoints) {
    const [nearest] = network.near(waypoint, accessM, 1);
    if (nearest === undefined) return null;
    stops.push(nearest);
  }
  const lines: Position[][] = [];
  const driven: Driven[] = [];
  for (const [at, stop] of stops.slice(1).entries()) {
    const [path] = await findPaths(network, stops[at] as OnRoad, [stop], cost, budget);
    if (path === null || path === undefined) return null;
    lines.push([...path.line]);
    driven.push(...path.driven);
  }
  const steps = stepsOf(driven, profile);
  return {
    path: bothEnds(joinLines(lines)),
    distanceM: steps.reduce((sum, step) => sum + step.distanceM, 0),
    durationS: steps.reduce((sum, step) => sum + step.durationS, 0),
    steps,
    source: 'provider',
  };
}

/** Returns one step for each road. */
function stepsOf(driven: readonly Driven[], profile: Profile): RouteStep[] {
  const steps: { name: string | null; distanceM: number; durationS: number }[] = [];
  for (const { segment, lengthM } of driven) {
    // A route that begins or ends at a crossing touches the other roads there.
    if (lengthM < crossingM) continue;
    const last = steps.at(-1);
    const durationS = (lengthM * 3.6) / speedOf(segment, profile);
    if (last !== undefined && last.name === segment.road.name) {
      last.distanceM += lengthM;
      last.durationS += durationS;
    } else steps.push({ name: segment.road.name, distanceM: lengthM, durationS });
  }
  return steps.map(({ name, ...step }) => ({
    instruction: name === null ? 'Follow the road' : `Follow ${name}`,
    ...step,
  }));
}

/** Returns the great circle, with estimated road length and time. */
function straightLine(waypoints: readonly Position[]): DrawnRoute {
  const steps = waypoints.slice(1).map((to, at): RouteStep => {
    const from = waypoints[at] as Position;
    const lengthM = distanceM(from, to) * detour;
    return {
      instruction: `Head ${compassPoint(bearingDeg(from, to))} (straight line: no roads are known here)`,
      distanceM: lengthM,
      durationS: (lengthM * 3.6) / assumedKmh,
    };
  });
  return {
    path: [...waypoints],
    distanceM: steps.reduce((sum, step) => sum + step.distanceM, 0),
    durationS: steps.reduce((sum, step) => sum + step.durationS, 0),
    steps,
    source: 'straight_line',
  };
}
