import { joinLines } from '../../geometry/lines.ts';
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
  type RouteStep,
  type TracePoint,
  unmatched,
} from '../providers.ts';
import { isObject, type JsonObject, numberOf, objectsOf, positionOf, textOf } from '../reading.ts';
import { type HttpProvider, ProviderRefusal, unreadable } from './http-provider.ts';

const profileNames: Readonly<Record<Profile, string>> = { car: 'driving', truck: 'truck' };
/** Codes for waypoints without a route between them, or without a road nearby. */
const nothingFound = new Set(['NoRoute', 'NoSegment', 'NoMatch', 'NoTrips']);

/** Calls OSRM's `/route` and `/match`. Unlike the rest of the product, OSRM expects the longitude first. */
export class Osrm implements Router, Matcher {
  readonly name = 'osrm';
  readonly #http: HttpProvider;

  constructor(http: HttpProvider) {
    this.#http = http;
  }

  async route({ waypoints, profile, alternatives }: RouteQuery): Promise<DrawnRoute[]> {
    const response = await this.#request(`/route/v1/${profileNames[profile]}/${coordinates(waypoints)}`, {
      overview: 'full',
      geometries: 'polyline',
      steps: 'true',
      // OSRM supports alternatives between two waypoints only.
      alternatives: alternatives > 0 && waypoints.length === 2 ? alternatives : undefined,
    });
    return response === null ? [] : objectsOf(response['routes']).map(drawn);
  }

  async match(trace: readonly TracePoint[], profile: Profile): Promise<MatchedTrace> {
    const times = trace.map(({ timestampMs }) => timestampMs);
    const response = await this.#request(
      `/match/v1/${profileNames[profile]}/${coordinates(trace.map(({ position }) => position))}`,
      {
        overview: 'false',
        geometries: 'polyline',
        steps: 'true',
        timestamps: risingSeconds(times)?.join(';'),
        radiuses: trace.some(({ accuracyM }) => accuracyM !== undefined)
          ? trace.map(({ accuracyM }) => radiusOf(accuracyM)).join(';')
          : undefined,
      },
    );
    return matched(trace, response ?? {});
  }

  /** Returns null if there is no road or no route. */
  async #request(path: string, parameters: Record<string, string | number | undefined>): Promise<JsonObject | null> {
    try {
      const response = await this.#http.get(path, parameters);
      if (!isObject(response) || response['code'] !== 'Ok') throw unreadable('code Ok');
      return response;
    } catch (error) {
      const body = error instanceof ProviderRefusal ? error.body : undefined;
      if (isObject(body) && nothingFound.has(String(body['code']))) return null;
      throw error;
    }
  }
}

const coordinates = (line: readonly Position[]): string =>
  line.map(([latitude, longitude]) => `${longitude},${latitude}`).join(';');

/** Returns timestamps only if all points have one and they increase, as OSRM requires. */
function risingSeconds(times: readonly (number | undefined)[]): number[] | undefined {
  const seconds: number[] = [];
  for (const time of times) {
    if (time === undefined) return undefined;
    const second = Math.round(time / 1000);
    if (second <= (seconds.at(-1) ?? -1)) return undefined;
    seconds.push(second);
  }
  return seconds;
}

/**
 * Returns the search radius; empty: OSRM's default. The minimum is that default, because a radius of zero finds
 * nothing.
 */
const radiusOf = (accuracyM: number | undefined): number | '' =>
  accuracyM === undefined ? '' : Math.max(5, accuracyM);

function lineOf(geometry: unknown): Position[] {
  const line = typeof geometry === 'string' ? decodePolyline(geometry) : null;
  if (line === null) throw unreadable('geometry');
  return line;
}

function drawn(route: JsonObject): DrawnRoute {
  const steps = objectsOf(route['legs']).flatMap((leg) => objectsOf(leg['steps']).map(stepOf));
  const path = lineOf(route['geometry']);
  if (path.length < 2) throw unreadable('way');
  return {
    path,
    distanceM: numberOf(route['distance']) ?? 0,
    durationS: numberOf(route['duration']) ?? 0,
    steps,
    source: 'provider',
  };
}

function stepOf(step: JsonObject): RouteStep {
  const maneuver: JsonObject = isObject(step['maneuver']) ? step['maneuver'] : {};
  const road = textOf(step['name']) ?? textOf(step['ref']);
  const words = [
    sentenceStart(textOf(maneuver['type']), textOf(maneuver['modifier'])),
    ...(road === null ? [] : [`on ${road}`]),
  ];
  return {
    instruction: words.join(' '),
    distanceM: numberOf(step['distance']) ?? 0,
    durationS: numberOf(step['duration']) ?? 0,
  };
}

// OSRM leaves the wording of instructions to its clients.
function sentenceStart(type: string | null, modifier: string | null): string {
  if (type === 'depart') return 'Start';
  if (type === 'arrive') return 'Arrive';
  if (type === 'roundabout' || type === 'rotary') return 'Take the roundabout';
  if (modifier === null || modifier === 'straight') return 'Continue';
  return modifier === 'uturn' ? 'Turn around' : `Turn ${modifier}`;
}

function matched(trace: readonly TracePoint[], response: JsonObject): MatchedTrace {
  const matchings = objectsOf(response['matchings']);
  const tracepoints: unknown = response['tracepoints'];
  const points = trace.map(({ position }, at): MatchedPoint => {
    const found: unknown = Array.isArray(tracepoints) ? tracepoints[at] : null;
    const location: unknown = isObject(found) ? found['location'] : null;
    const onRoad = Array.isArray(location) ? positionOf(numberOf(location[1]), numberOf(location[0])) : null;
    if (!isObject(found) || onRoad === null) return unmatched(position);
    const legs = objectsOf(matchings[numberOf(found['matchings_index']) ?? -1]?.['legs']);
    const leg = legs[(numberOf(found['waypoint_index']) ?? 0) - 1];
    const line = leg === undefined ? [] : objectsOf(leg['steps']).map((step) => lineOf(step['geometry']));
    return {
      position: onRoad,
      isMatched: true,
      distanceM: numberOf(found['distance']),
      roadName: textOf(found['name']),
      speedLimitKmh: null,
      leg: joinLines([...line, [onRoad]]),
    };
  });
  const confidences = matchings.map((matching) => numberOf(matching['confidence']) ?? 0);
  const mean = confidences.reduce((sum, each) => sum + each, 0) / Math.max(1, confidences.length);
  return { points, confidence: mean };
}
