import TinyQueue from 'tinyqueue';
import { joinLines } from '../../geometry/lines.ts';
import { distanceM, type Position } from '../../geometry/positions.ts';
import type { OnRoad, RoadNetwork, Segment } from './road-network.ts';
import { SearchBudget } from './search-budget.ts';

/** A part of a path: a segment, or a part of one. */
export interface Driven {
  readonly segment: Segment;
  readonly lengthM: number;
}

/** A path from one position on a road to another. */
interface FoundPath {
  readonly line: readonly Position[];
  readonly lengthM: number;
  readonly driven: readonly Driven[];
}

/** The cost that a search minimises. */
export interface Cost {
  /** Returns the cost of a distance on a segment. */
  of(segment: Segment, lengthM: number): number;
  /** Returns the lower bound of the cost of a distance, the heuristic of A*. */
  atLeast(lengthM: number): number;
  /** Paths with a higher cost are not searched. */
  readonly limit: number;
}

/** Uses the length as the cost. */
export const byLength = (limitM: number): Cost => ({
  of: (_segment, lengthM) => lengthM,
  atLeast: (lengthM) => lengthM,
  limit: limitM,
});

/** Because of GPS jitter, standing or creeping looks like driving back a little, which is allowed on one-way roads. */
const jitterM = 20;

interface Arrival {
  readonly cost: number;
  /** Null at the start. */
  readonly from: { readonly node: number; readonly segment: Segment } | null;
}

/**
 * Finds the cheapest path to each goal, null if there is none or none is found with the budget. Uses A* for one goal,
 * Dijkstra for several.
 */
export async function findPaths(
  network: RoadNetwork,
  start: OnRoad,
  goals: readonly OnRoad[],
  cost: Cost,
  budget = new SearchBudget(),
): Promise<(FoundPath | null)[]> {
  const arrivals = new Map<number, Arrival>();
  const open = new TinyQueue<{ readonly key: number; readonly value: number }>([], (a, b) => a.key - b.key);
  const single = goals.length === 1 ? goals[0] : undefined;
  const hope = (node: number): number =>
    single === undefined ? 0 : cost.atLeast(distanceM(network.at(node), single.position));
  const reach = (node: number, arrival: Arrival): void => {
    const known = arrivals.get(node);
    if (arrival.cost > cost.limit || (known !== undefined && known.cost <= arrival.cost)) return;
    arrivals.set(node, arrival);
    open.push({ key: arrival.cost + hope(node), value: node });
  };
  for (const { node, lengthM } of exitsOf(start)) reach(node, { cost: cost.of(start.segment, lengthM), from: null });

  const waiting = new Set(goals.flatMap((goal) => entriesOf(goal).map(({ node }) => node)));
  const closed = new Set<number>();
  for (let next = open.pop(); next !== undefined && waiting.size > 0 && !budget.isExhausted; next = open.pop()) {
    const node = next.value;
    if (closed.has(node)) continue;
    const pause = budget.step();
    if (pause !== undefined) await pause;
    closed.add(node);
    waiting.delete(node);
    const { cost: spent } = arrivals.get(node) as Arrival;
    for (const { segment, to } of network.waysFrom(node))
      reach(to, { cost: spent + cost.of(segment, segment.lengthM), from: { node, segment } });
  }
  return goals.map((goal) => best(network, start, goal, { arrivals, closed }, cost));
}

/** Returns the nodes that can be reached directly from a position, with the distance to them. */
function exitsOf({ segment, part }: OnRoad): { node: number; lengthM: number }[] {
  const forward = { node: segment.to, lengthM: (1 - part) * segment.lengthM };
  return segment.road.isOneWay ? [forward] : [forward, { node: segment.from, lengthM: part * segment.lengthM }];
}

/** Returns the nodes from which a position can be reached directly. */
function entriesOf({ segment, part }: OnRoad): { node: number; lengthM: number }[] {
  const forward = { node: segment.from, lengthM: part * segment.lengthM };
  return segment.road.isOneWay ? [forward] : [forward, { node: segment.to, lengthM: (1 - part) * segment.lengthM }];
}

interface Searched {
  readonly arrivals: ReadonlyMap<number, Arrival>;
  readonly closed: ReadonlySet<number>;
}

function best(network: RoadNetwork, start: OnRoad, goal: OnRoad, searched: Searched, cost: Cost): FoundPath | null {
  const direct = alongSegment(start, goal);
  let least = direct === null ? Number.POSITIVE_INFINITY : cost.of(start.segment, direct.lengthM);
  let last: { node: number; lengthM: number } | null = null;
  for (const entry of entriesOf(goal)) {
    const arrival = searched.closed.has(entry.node) ? searched.arrivals.get(entry.node) : undefined;
    if (arrival === undefined) continue;
    const total = arrival.cost + cost.of(goal.segment, entry.lengthM);
    if (total < least && total <= cost.limit) [least, last] = [total, entry];
  }
  return last === null ? direct : through(network, start, goal, last, searched.arrivals);
}

/** Returns the path between two positions on one segment, if it may be driven in that direction. */
function alongSegment(start: OnRoad, goal: OnRoad): FoundPath | null {
  const { segment } = start;
  if (segment !== goal.segment) return null;
  const lengthM = Math.abs(goal.part - start.part) * segment.lengthM;
  if (segment.road.isOneWay && goal.part < start.part && lengthM > jitterM) return null;
  return { line: joinLines([[start.position, goal.position]]), lengthM, driven: [{ segment, lengthM }] };
}

function through(
  network: RoadNetwork,
  start: OnRoad,
  goal: OnRoad,
  last: { readonly node: number; readonly lengthM: number },
  arrivals: ReadonlyMap<number, Arrival>,
): FoundPath {
  const middle: Driven[] = [];
  const nodes = [last.node];
  let node = last.node;
  for (let from = arrivals.get(node)?.from; from !== null && from !== undefined; from = arrivals.get(node)?.from) {
    node = from.node;
    nodes.push(node);
    middle.push({ segment: from.segment, lengthM: from.segment.lengthM });
  }
  const firstM = exitsOf(start).find((exit) => exit.node === node)?.lengthM ?? 0;
  const driven = [
    { segment: start.segment, lengthM: firstM },
    ...middle.reverse(),
    { segment: goal.segment, lengthM: last.lengthM },
  ];
  const way = nodes.reverse().map((each) => network.at(each));
  return {
    line: joinLines([[start.position], way, [goal.position]]),
    lengthM: driven.reduce((sum, piece) => sum + piece.lengthM, 0),
    driven,
  };
}
