import type { LimitFunction } from 'p-limit';
import { boundsOverlap, computeBounds } from '../../geometry/bounds.ts';
import type { Position } from '../../geometry/positions.ts';
import type { MatchedPoint, MatchedTrace, TracePoint } from '../providers.ts';
import { matchTrace, roadWithinM } from './map-matching.ts';
import { RoadNetwork } from './road-network.ts';
import { SearchBudget } from './search-budget.ts';
import { searchLimit } from './search-limit.ts';

/** Matches traces to the roads of a file, and to the account's own routes wherever the file has no road nearby. */
export class EmbeddedMatcher {
  readonly name = 'embedded';
  readonly #network: () => Promise<RoadNetwork>;
  readonly #limit: LimitFunction;

  constructor(network: () => Promise<RoadNetwork>, limit = searchLimit()) {
    this.#network = network;
    this.#limit = limit;
  }

  async match(trace: readonly TracePoint[], ownPaths: readonly (readonly Position[])[]): Promise<MatchedTrace> {
    const network = await this.#network();
    // The time includes the wait for other searches.
    const budget = new SearchBudget();
    const onRoads = await this.#limit(() => matchTrace(network, trace, budget));
    if (onRoads.points.every(({ isMatched }) => isMatched)) return onRoads;
    const left = trace.filter((_point, at) => onRoads.points[at]?.isMatched === false);
    const around = computeBounds(
      left.map(({ position }) => position),
      roadWithinM,
    );
    const near = ownPaths.filter((path) => path.length > 1 && boundsOverlap(computeBounds(path), around));
    if (near.length === 0) return onRoads;
    const paths = await RoadNetwork.build(
      near.map((line) => ({ line, name: null, maxSpeedKmh: null, isOneWay: false })),
    );
    const onPaths = await this.#limit(() => matchTrace(paths, left, budget));
    const rest = [...onPaths.points];
    const share = left.length / trace.length;
    return {
      points: merged(onRoads.points, (point) => (point.isMatched ? point : (rest.shift() ?? point))),
      confidence: onRoads.confidence + onPaths.confidence * share,
    };
  }
}

/**
 * Starts a new leg wherever the trace changes between roads and own paths, because each was matched without the other.
 */
function merged(
  onRoads: readonly MatchedPoint[],
  better: (point: MatchedPoint) => MatchedPoint,
): readonly MatchedPoint[] {
  let wasOnRoad: boolean | null = null;
  return onRoads.map((onRoad) => {
    const point = better(onRoad);
    if (!point.isMatched) return point;
    const hasChanged = wasOnRoad !== null && wasOnRoad !== onRoad.isMatched;
    wasOnRoad = onRoad.isMatched;
    return hasChanged ? { ...point, leg: [point.position] } : point;
  });
}
