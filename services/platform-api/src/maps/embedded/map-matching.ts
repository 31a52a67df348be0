import { setImmediate as otherWork } from 'node:timers/promises';
import { distanceM, type Position } from '../../geometry/positions.ts';
import { type MatchedPoint, type MatchedTrace, type TracePoint, unmatched } from '../providers.ts';
import type { OnRoad, RoadNetwork } from './road-network.ts';
import { SearchBudget } from './search-budget.ts';
import { byLength, findPaths } from './shortest-path.ts';

/** GPS error: standard deviation of the distance to the road. */
const sigmaM = 10;
/**
 * Scale of the exponential distribution of the difference between the road distance and the straight distance of two
 * points.
 */
const betaM = 20;
/** A point with no road within this distance was not on one. */
export const roadWithinM = 50;
const candidatesAtMost = 6;
/** Number of points after which the matching yields to other requests. */
const pointsAtOnce = 25;

/** A candidate for a point of the trace, and the best path to it. */
interface State {
  readonly place: OnRoad;
  /** Logarithm of the probability of the best chain that ends here. */
  readonly likelihood: number;
  readonly before: State | null;
  /** The line from the previous state. */
  readonly leg: readonly Position[];
}

/** The states of one point; `at` is its index in the trace. */
interface Layer {
  readonly at: number;
  readonly states: readonly State[];
}

/**
 * Finds the road under a trace: the most likely chain of positions on roads (Viterbi over a hidden Markov model, after
 * Newson and Krumm 2009). Points without a road are left out of the chain. A new chain starts where no route continues,
 * or where points are so far apart that the budget is spent.
 */
export async function matchTrace(
  network: RoadNetwork,
  trace: readonly TracePoint[],
  budget = new SearchBudget(),
): Promise<MatchedTrace> {
  const points = trace.map(({ position }): MatchedPoint => unmatched(position));
  let chain: Layer[] = [];
  const finish = (): void => {
    for (const [at, state] of likeliest(chain)) points[at] = matchedAt(state);
    chain = [];
  };
  for (const [at, point] of trace.entries()) {
    if (at % pointsAtOnce === pointsAtOnce - 1) await otherWork();
    const places = network.near(point.position, roadWithinM, candidatesAtMost);
    if (places.length === 0) continue;
    const last = chain.at(-1);
    const states = last === undefined ? [] : await onwards(network, last, trace, { point, places, budget });
    if (states.length === 0) {
      finish();
      chain.push({ at, states: places.map((place) => startAt(place, point)) });
    } else chain.push({ at, states });
  }
  finish();
  return { points, confidence: confidenceOf(points) };
}

const emission = (place: OnRoad, { accuracyM }: TracePoint): number =>
  -0.5 * (place.distanceM / Math.max(sigmaM, accuracyM ?? 0)) ** 2;

const startAt = (place: OnRoad, point: TracePoint): State => ({
  place,
  likelihood: emission(place, point),
  before: null,
  leg: [place.position],
});

async function onwards(
  network: RoadNetwork,
  last: Layer,
  trace: readonly TracePoint[],
  { point, places, budget }: { point: TracePoint; places: readonly OnRoad[]; budget: SearchBudget },
): Promise<State[]> {
  const straightM = distanceM((trace[last.at] as TracePoint).position, point.position);
  const cost = byLength(straightM * 2 + 4 * roadWithinM);
  const best: (State | undefined)[] = places.map(() => undefined);
  for (const before of last.states) {
    const paths = await findPaths(network, before.place, places, cost, budget);
    for (const [to, path] of paths.entries()) {
      const place = places[to] as OnRoad;
      if (path === null) continue;
      const transition = -Math.abs(path.lengthM - straightM) / betaM;
      const likelihood = before.likelihood + transition + emission(place, point);
      if (likelihood > (best[to]?.likelihood ?? Number.NEGATIVE_INFINITY))
        best[to] = { place, likelihood, before, leg: path.line };
    }
  }
  return best.filter((state) => state !== undefined);
}

/** Returns the chain that ends in the likeliest state: each point's index in the trace, and its state. */
function likeliest(chain: readonly Layer[]): [number, State][] {
  let state: State | null = null;
  for (const each of chain.at(-1)?.states ?? []) if (state === null || each.likelihood > state.likelihood) state = each;
  const found: [number, State][] = [];
  for (let layer = chain.length - 1; layer >= 0 && state !== null; layer -= 1) {
    found.push([(chain[layer] as Layer).at, state]);
    state = state.before;
  }
  return found;
}

const matchedAt = ({ place, leg }: State): MatchedPoint => ({
  position: place.position,
  isMatched: true,
  distanceM: place.distanceM,
  roadName: place.segment.road.name,
  speedLimitKmh: place.segment.road.maxSpeedKmh,
  leg,
});

/** Returns how near the points are to the road according to the model; a point without a road counts as zero. */
function confidenceOf(points: readonly MatchedPoint[]): number {
  const sum = points.reduce(
    (total, { distanceM: away }) => total + (away === null ? 0 : Math.exp(-0.5 * (away / (2 * sigmaM)) ** 2)),
    0,
  );
  return points.length === 0 ? 0 : sum / points.length;
}
