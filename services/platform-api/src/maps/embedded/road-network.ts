import Flatbush from 'flatbush';
import { nearestOnSegment } from '../../geometry/lines.ts';
import { degreeM, distanceM, type Position, radians } from '../../geometry/positions.ts';

/** A road as it comes out of a file, or a path that counts as one. */
export interface Road {
  readonly line: readonly Position[];
  readonly name: string | null;
  /** null: not known. */
  readonly maxSpeedKmh: number | null;
  /** Only in the direction of the line. */
  readonly isOneWay: boolean;
}

/** A straight piece of a road between two nodes. */
export interface Segment {
  readonly from: number;
  readonly to: number;
  readonly lengthM: number;
  readonly road: Road;
}

/** A place on a road. */
export interface OnRoad {
  readonly segment: Segment;
  /** Along the segment, 0 to 1. */
  readonly part: number;
  readonly position: Position;
  /** From the position that was asked for. */
  readonly distanceM: number;
}

/** A way out of a node. */
export interface Way {
  readonly segment: Segment;
  readonly to: number;
}

/** Vertices that agree in so many decimals (a tenth of a metre) are one crossing. */
const nodeDecimals = 6;

/** Roads as a graph: each vertex is a node, roads meet where they share one. */
export class RoadNetwork {
  readonly nodes: readonly Position[];
  /** The highest known speed limit, or null. */
  readonly fastestKmh: number | null;
  readonly #ways: readonly (readonly Way[])[];
  readonly #segments: readonly Segment[];
  /** Absent for a network without segments, of which no index can be made. */
  readonly #index: Flatbush | undefined;

  constructor(roads: Iterable<Road>) {
    const nodes: Position[] = [];
    const ids = new Map<string, number>();
    const ways: Way[][] = [];
    const segments: Segment[] = [];
    let fastestKmh: number | null = null;
    const idOf = (position: Position): number => {
      const key = position.map((value) => value.toFixed(nodeDecimals)).join();
      const known = ids.get(key);
      if (known !== undefined) return known;
      ids.set(key, nodes.length);
      ways.push([]);
      return nodes.push(position) - 1;
    };
    for (const road of roads) {
      if (road.maxSpeedKmh !== null) fastestKmh = Math.max(fastestKmh ?? 0, road.maxSpeedKmh);
      for (let at = 1; at < road.line.length; at += 1) {
        const [start, end] = [road.line[at - 1] as Position, road.line[at] as Position];
        const [from, to] = [idOf(start), idOf(end)];
        if (from === to) continue;
        const segment: Segment = { from, to, lengthM: distanceM(start, end), road };
        segments.push(segment);
        ways[from]?.push({ segment, to });
        if (!road.isOneWay) ways[to]?.push({ segment, to: from });
      }
    }
    this.nodes = nodes;
    this.fastestKmh = fastestKmh;
    this.#ways = ways;
    this.#segments = segments;
    this.#index = indexOf(segments, nodes);
  }

  get isEmpty(): boolean {
    return this.#segments.length === 0;
  }

  /** Where one can drive from a node. */
  waysFrom(node: number): readonly Way[] {
    return this.#ways[node] ?? [];
  }

  at(node: number): Position {
    return this.nodes[node] as Position;
  }

  /** The nearest places within a distance, one on each segment, nearest first. */
  near(position: Position, withinM: number, count: number): OnRoad[] {
    const [latitude, longitude] = position;
    const lat = withinM / degreeM;
    const lng = lat / Math.max(0.01, Math.cos(radians(latitude)));
    const found = this.#index?.search(longitude - lng, latitude - lat, longitude + lng, latitude + lat) ?? [];
    return found
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
