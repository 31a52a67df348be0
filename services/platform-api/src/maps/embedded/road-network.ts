import { setImmediate as otherWork } from 'node:timers/promises';
import Flatbush from 'flatbush';
import { nearestOnSegment } from '../../geometry/lines.ts';
import { degreeM, distanceM, type Position, toRadians } from '../../geometry/positions.ts';

/** A road of a file, or a path that is used as one. */
export interface Road {
  readonly line: readonly Position[];
  readonly name: string | null;
  /** Null if unknown. */
  readonly maxSpeedKmh: number | null;
  /** True if it may be driven only in the direction of the line. */
  readonly isOneWay: boolean;
}

/** A straight piece of a road between two nodes. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly lengthM: number;
  readonly road: Road;
}

/** A position on a road. */
export interface OnRoad {
  readonly segment: Segment;
  /** Share of the segment's length, 0 to 1. */
  readonly part: number;
  readonly position: Position;
  /** Distance from the position of the search. */
  readonly distanceM: number;
}

/** An edge out of a node. */
interface Way {
  readonly segment: Segment;
  readonly to: number;
}

/** Vertices that agree to this number of decimals (a tenth of a metre) are one crossing. */
const nodeDecimals = 6;

/** Number of road positions after which the building yields to other requests. */
const positionsAtOnce = 5_000;

/** A network under construction. */
class Draft {
  readonly nodes: Position[] = [];
  readonly ways: Way[][] = [];
  readonly segments: Segment[] = [];
  fastestKmh: number | null = null;
  readonly #ids = new Map<string, number>();

  add(road: Road): void {
    if (road.maxSpeedKmh !== null) this.fastestKmh = Math.max(this.fastestKmh ?? 0, road.maxSpeedKmh);
    for (let at = 1; at < road.line.length; at += 1) {
      const [start, end] = [road.line[at - 1] as Position, road.line[at] as Position];
      const [from, to] = [this.#idOf(start), this.#idOf(end)];
      if (from === to) continue;
      const segment: Segment = { from, to, lengthM: distanceM(start, end), road };
      this.segments.push(segment);
      this.ways[from]?.push({ segment, to });
      if (!road.isOneWay) this.ways[to]?.push({ segment, to: from });
    }
  }

  #idOf(position: Position): number {
    const key = position.map((value) => value.toFixed(nodeDecimals)).join();
    const known = this.#ids.get(key);
    if (known !== undefined) return known;
    this.#ids.set(key, this.nodes.length);
    this.ways.push([]);
    return this.nodes.push(position) - 1;
  }
}

/** Represents roads as a graph: each vertex is a node, and roads meet where they share one. */
export class RoadNetwork {
  readonly nodes: readonly Position[];
  /** The highest known speed limit, or null. */
  readonly fastestKmh: number | null;
  readonly #ways: readonly (readonly Way[])[];
  readonly #segments: readonly Segment[];
  /** Absent for a network without segments, for which no index can be created. */
  readonly #index: Flatbush | undefined;

  constructor(roads: Iterable<Road>, draft = new Draft()) {
    for (const road of roads) draft.add(road);
    this.nodes = draft.nodes;
    this.fastestKmh = draft.fastestKmh;
    this.#ways = draft.ways;
    this.#segments = draft.segments;
    this.#index = indexOf(draft.segments, draft.nodes);
  }

  /** Builds a network of many roads and yields to other work in between. */
  static async build(roads: Iterable<Road>): Promise<RoadNetwork> {
    const draft = new Draft();
    let positions = 0;
    for (const road of roads) {
      draft.add(road);
      positions += road.line.length;
      if (positions < positionsAtOnce) continue;
      positions = 0;
      await otherWork();
    }
    return new RoadNetwork([], draft);
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  /** Returns the edges that may be driven from a node. */
  waysFrom(node: number): readonly Way[] {
    return this.#ways[node] ?? [];
  }

  at(node: number): Position {
    return this.nodes[node] as Position;
  }

  /** Returns the nearest positions within a distance, one per segment, nearest first. */
  near(position: Position, withinM: number, count: number): OnRoad[] {
    const [latitude, longitude] = position;
    const lat = withinM / degreeM;
    const lng = lat / Math.max(0.01, Math.cos(toRadians(latitude)));
    // The index is flat, so positions beyond the date line need a second search.
    const turns = [0, longitude - lng < -180 ? 360 : 0, longitude + lng > 180 ? -360 : 0];
    const found = [...new Set(turns)].flatMap((turn) => {
      const [west, east] = [longitude - lng + turn, longitude + lng + turn];
      return this.#index?.search(west, latitude - lat, east, latitude + lat) ?? [];
    });
    return [...new Set(found)]
      .map((at) => this.#onSegment(position, this.#segments[at] as Segment))
      .filter((place) => place.distanceM <= withinM)
      .sort((a, b) => a.distanceM - b.distanceM)
      .slice(0, count);
  }

  #onSegment(position: Position, segment: Segment): OnRoad {
    return { segment, ...nearestOnSegment(position, this.at(segment.from), this.at(segment.to)) };
  }
}

function indexOf(segments: readonly Segment[], nodes: readonly Position[]): Flatbush | undefined {
  if (segments.length === 0) return undefined;
  const index = new Flatbush(segments.length);
  for (const { from, to } of segments) {
    const [a, b] = [nodes[from] as Position, nodes[to] as Position];
    index.add(Math.min(a[1], b[1]), Math.min(a[0], b[0]), Math.max(a[1], b[1]), Math.max(a[0], b[0]));
  }
  index.finish();
  return index;
}
