import { bothEnds, joinLines } from '../../geometry/lines.ts';
import { decodePolyline } from '../../geometry/polyline.ts';
import type { Position } from '../../geometry/positions.ts';
import {
  type DrawnRoute,
  type MatchedPoint,
  type MatchedTrace,
  type Matcher,
  type Profile,
  type RouteQuery,
  type Router,
  type TracePoint,
  unmatched,
} from '../providers.ts';
import { isObject, type JsonObject, numberOf, objectsOf, positionOf, textOf } from '../reading.ts';
import { type HttpProvider, ProviderRefusal, unreadable } from './http-provider.ts';

const costings: Readonly<Record<Profile, string>> = { car: 'auto', truck: 'truck' };
/** Valhalla's shapes have six decimals. */
const precision = 6;
/** Error codes of Valhalla's manual: no road near a position, no route between two, no match. */
const nothingFound = new Set([170, 171, 442, 443, 444, 445]);

const traceAttributes = [
  'edge.names',
  'edge.speed_limit',
  'edge.begin_shape_index',
  'edge.end_shape_index',
  'matched.point',
  'matched.type',
  'matched.edge_index',
  'matched.distance_along_edge',
  'matched.distance_from_trace_point',
  'confidence_score',
  'shape',
];

/** Calls Valhalla's `/route` and `/trace_attributes`. */
export class Valhalla implements Router, Matcher {
  readonly name = 'valhalla';
  readonly #http: HttpProvider;

  constructor(http: HttpProvider) {
    this.#http = http;
  }

  async route({ waypoints, profile, alternatives }: RouteQuery): Promise<DrawnRoute[]> {
    const response = await this.#request('/route', {
      locations: waypoints.map(([lat, lon]) => ({ lat, lon })),
      costing: costings[profile],
      units: 'kilometers',
      // Valhalla supports alternatives between two waypoints only.
      ...(alternatives > 0 && waypoints.length === 2 ? { alternates: alternatives } : {}),
    });
    if (response === null) return [];
    const others = objectsOf(response['alternates']).map((alternate) => alternate['trip']);
    return [response['trip'], ...others].map(drawn);
  }

  async match(trace: readonly TracePoint[], profile: Profile): Promise<MatchedTrace> {
    const response = await this.#request('/trace_attributes', {
      shape: trace.map(({ position: [lat, lon], timestampMs, accuracyM }) => ({
        lat,
        lon,
        ...(timestampMs === undefined ? {} : { time: Math.round(timestampMs / 1000) }),
        ...(accuracyM === undefined ? {} : { accuracy: accuracyM }),
      })),
      costing: costings[profile],
      shape_match: 'map_snap',
      units: 'kilometers',
      filters: { action: 'include', attributes: traceAttributes },
    });
    return matched(trace, response ?? {});
  }

  /** Returns null if there is no road or no route. */
  async #request(path: string, body: unknown): Promise<JsonObject | null> {
    try {
      const response = await this.#http.post(path, body);
      if (!isObject(response)) throw unreadable('object');
      return response;
    } catch (error) {
      const refused = error instanceof ProviderRefusal ? error.body : undefined;
      if (isObject(refused) && nothingFound.has(Number(refused['error_code']))) return null;
      throw error;
    }
  }
}

function shapeOf(shape: unknown): Position[] {
  const line = typeof shape === 'string' ? decodePolyline(shape, precision) : null;
  if (line === null) throw unreadable('shape');
  return line;
}

function drawn(trip: unknown): DrawnRoute {
  if (!isObject(trip) || !isObject(trip['summary'])) throw unreadable('trip');
  const legs = objectsOf(trip['legs']);
  const summary = trip['summary'];
  const path = joinLines(legs.map((leg) => shapeOf(leg['shape'])));
  if (path.length === 0) throw unreadable('way');
  return {
    path: bothEnds(path),
    distanceM: (numberOf(summary['length']) ?? 0) * 1000,
    durationS: numberOf(summary['time']) ?? 0,
    steps: legs.flatMap((leg) =>
      objectsOf(leg['maneuvers']).map((maneuver) => ({
        instruction: textOf(maneuver['instruction']) ?? 'Continue',
        distanceM: (numberOf(maneuver['length']) ?? 0) * 1000,
        durationS: numberOf(maneuver['time']) ?? 0,
      })),
    ),
    source: 'provider',
  };
}

function matched(trace: readonly TracePoint[], response: JsonObject): MatchedTrace {
  const edges = objectsOf(response['edges']);
  const shape = response['shape'] === undefined ? [] : shapeOf(response['shape']);
  const found = objectsOf(response['matched_points']);
  let before: number | null = null;
  const points = trace.map(({ position }, at): MatchedPoint => {
    const point = found[at];
    const onRoad = point && positionOf(numberOf(point['lat']), numberOf(point['lon']));
    const edge = edges[numberOf(point?.['edge_index']) ?? -1];
    if (point?.['type'] === 'unmatched' || !onRoad || edge === undefined) return unmatched(position);
    const here = vertexOn(edge, numberOf(point?.['distance_along_edge']) ?? 0);
    const between: Position[] = before === null ? [] : shape.slice(before + 1, here + 1);
    before = here;
    const names: unknown = edge['names'];
    return {
      position: onRoad,
      isMatched: true,
      distanceM: numberOf(point?.['distance_from_trace_point']),
      roadName: Array.isArray(names) ? textOf(names[0]) : null,
      speedLimitKmh: numberOf(edge['speed_limit']),
      leg: joinLines([between, [onRoad]]),
    };
  });
  return { points, confidence: Math.max(0, Math.min(1, numberOf(response['confidence_score']) ?? 0)) };
}

/**
 * Returns the vertex of the shape at or before a position on an edge. Vertices within an edge count as evenly spaced,
 * which costs a few metres of line.
 */
function vertexOn(edge: JsonObject, part: number): number {
  const begin = numberOf(edge['begin_shape_index']) ?? 0;
  const end = numberOf(edge['end_shape_index']) ?? begin;
  return begin + Math.floor(Math.max(0, Math.min(0.999, part)) * (end - begin));
}
