import { createHash } from 'node:crypto';
import { distanceToLineM, type FlatLine, toFlatLine } from '../../geometry/flat-lines.ts';
import { degreeM, distanceM, type Position, toRadians, unwrapLongitude } from '../../geometry/positions.ts';
import { toPairs } from '../../platform/coordinates.ts';
import type { StoredRoute } from './schema.ts';

/** The path of a route, prepared for searches. */
export interface RoutePath {
  /** Identifies the path and its stops. */
  readonly code: string;
  readonly line: FlatLine;
  /** Distance from the start to each point. */
  readonly alongsM: Float64Array;
  readonly totalM: number;
  /** South, west, north and east of each group of `stretchLength` segments. */
  readonly boxes: Float64Array;
  /** Stops of the route: its waypoints, or its start and its end. */
  readonly stops: readonly Stop[];
  readonly distanceM: (position: Position) => number;
}

/** A stop of a route. */
export interface Stop {
  readonly position: Position;
  readonly radiusM: number;
  /** Position along the path; null if it is off the path. */
  readonly alongM: number | null;
}

const stretchLength = 32;
/** Radius of start and end of a route without waypoints. */
const endRadiusM = 50;
/** A vehicle this far behind its last position has not turned back: fixes scatter. */
const scatterM = 50;
const sameM = 2;

const known = new WeakMap<StoredRoute, RoutePath>();

/** Returns the path of a route, created once for each loaded record. */
export function routePathOf(route: StoredRoute): RoutePath {
  const found = known.get(route);
  if (found !== undefined) return found;
  const made = pathMade(route);
  known.set(route, made);
  return made;
}

function pathMade(route: StoredRoute): RoutePath {
  const positions = toPairs(route.points);
  const line = toFlatLine(positions, false);
  const alongsM = new Float64Array(positions.length);
  for (let at = 1; at < positions.length; at += 1)
    alongsM[at] = (alongsM[at - 1] ?? 0) + distanceM(positions[at - 1] as Position, positions[at] as Position);
  const shape = JSON.stringify([route.points, route.waypoints.map(({ lat, lng, radiusM }) => [lat, lng, radiusM])]);
  const path: RoutePath = {
    code: createHash('sha256').update(shape).digest('base64url').slice(0, 8),
    line,
    alongsM,
    totalM: alongsM.at(-1) ?? 0,
    boxes: boxesOf(line),
    stops: [],
    distanceM: ([latitude, longitude]) => distanceToLineM(line, latitude, longitude),
  };
  return { ...path, stops: stopsOf(route, path, positions) };
}

function boxesOf({ latitudes, longitudes }: FlatLine): Float64Array {
  const stretches = Math.max(1, Math.ceil((latitudes.length - 1) / stretchLength));
  const boxes = new Float64Array(stretches * 4);
  for (let at = 0; at < stretches; at += 1) {
    const from = at * stretchLength;
    const [lats, lngs] = [latitudes, longitudes].map((all) => all.subarray(from, from + stretchLength + 1));
    boxes.set(
      [Math.min(...(lats ?? [])), Math.min(...(lngs ?? [])), Math.max(...(lats ?? [])), Math.max(...(lngs ?? []))],
      at * 4,
    );
  }
  return boxes;
}

function stopsOf({ waypoints, deviationM }: StoredRoute, path: RoutePath, positions: readonly Position[]): Stop[] {
  if (waypoints.length < 2) {
    const [start, end] = [positions[0], positions.at(-1)];
    if (start === undefined || end === undefined) return [];
    return [
      { position: start, radiusM: endRadiusM, alongM: 0 },
      { position: end, radiusM: endRadiusM, alongM: path.totalM },
    ];
  }
  let previousM = 0;
  return waypoints.map(({ lat, lng, radiusM }, at): Stop => {
    const isLast = at === waypoints.length - 1;
    // A round trip ends at its end, although that is also its start.
    const end = isLast && distanceToLineM(path.line, lat, lng, positions.length - 1) <= radiusM ? path.totalM : null;
    const alongM = end ?? alongAt(path, lat, lng, Math.max(radiusM, deviationM), previousM, 0);
    if (alongM !== null) previousM = alongM;
    return { position: [lat, lng], radiusM, alongM };
  });
}

/** Returns true if a position is within a distance of the path. */
export const isNearPath = (path: RoutePath, latitude: number, longitude: number, withinM: number): boolean =>
  search(path, latitude, longitude, withinM, null) !== null;

/**
 * Returns the position along the path of a vehicle, from its last one; null if it is too far away. A path may pass a
 * point several times: the vehicle continues to the next pass, and turns back only if there is none ahead.
 */
export const placeOnPath = (
  path: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  beforeM: number | null,
): number | null => alongAt(path, latitude, longitude, withinM, beforeM ?? 0, scatterM);

function alongAt(
  path: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  beforeM: number,
  backM: number,
): number | null {
  return (
    search(path, latitude, longitude, withinM, { fromM: beforeM - backM, beforeM }) ??
    search(path, latitude, longitude, withinM, { fromM: Number.NEGATIVE_INFINITY, beforeM })
  );
}

interface Wanted {
  readonly fromM: number;
  readonly beforeM: number;
}

/** Collects candidates within reach: the nearest of each pass, and of these the one next to the last position. */
class Passes {
  found: number | null = null;
  readonly #beforeM: number;
  #awayM = Number.POSITIVE_INFINITY;
  #alongM = 0;

  constructor(beforeM: number) {
    this.#beforeM = beforeM;
  }

  take(awayM: number, alongM: number): void {
    // Of two equally near candidates, the first one.
    if (awayM >= this.#awayM - sameM) return;
    this.#awayM = awayM;
    this.#alongM = alongM;
  }

  end(): void {
    if (this.#awayM === Number.POSITIVE_INFINITY) return;
    this.#awayM = Number.POSITIVE_INFINITY;
    const isNext = this.found === null || Math.abs(this.#alongM - this.#beforeM) < Math.abs(this.found - this.#beforeM);
    if (isNext) this.found = this.#alongM;
  }
}

/**
 * Returns the candidate that is nearest along the path to the last position; without one, the first segment within
 * reach.
 */
function search(
  { line, alongsM, boxes }: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  wanted: Wanted | null,
): number | null {
  const { latitudes, longitudes, middle } = line;
  const here = unwrapLongitude(longitude, middle);
  const scale = Math.cos(toRadians(latitude));
  const reach = withinM / degreeM;
  const reachLng = reach / Math.max(0.001, scale);
  const fromM = wanted?.fromM ?? Number.NEGATIVE_INFINITY;
  const passes = new Passes(wanted?.beforeM ?? 0);
  for (let box = 0; box < boxes.length; box += 4) {
    const from = (box / 4) * stretchLength;
    const to = Math.min(from + stretchLength, latitudes.length - 1);
    const isAway =
      (alongsM[to] ?? 0) < fromM ||
      latitude < (boxes[box] ?? 0) - reach ||
      latitude > (boxes[box + 2] ?? 0) + reach ||
      here < (boxes[box + 1] ?? 0) - reachLng ||
      here > (boxes[box + 3] ?? 0) + reachLng;
    if (isAway) passes.end();
    const end = isAway ? from : to;
    for (let at = from; at < end; at += 1) {
      const [startM, endM] = [alongsM[at] ?? 0, alongsM[at + 1] ?? 0];
      const dx = ((longitudes[at + 1] ?? 0) - (longitudes[at] ?? 0)) * scale;
      const dy = (latitudes[at + 1] ?? 0) - (latitudes[at] ?? 0);
      const ax = ((longitudes[at] ?? 0) - here) * scale;
      const ay = (latitudes[at] ?? 0) - latitude;
      const square = dx * dx + dy * dy;
      const nearest = square === 0 ? 0 : Math.max(0, Math.min(1, -(ax * dx + ay * dy) / square));
      const part = endM > startM ? Math.max(nearest, (fromM - startM) / (endM - startM)) : 0;
      const awayM = part > 1 ? Number.POSITIVE_INFINITY : Math.hypot(ax + part * dx, ay + part * dy) * degreeM;
      if (awayM <= withinM) {
        if (wanted === null) return startM;
        passes.take(awayM, startM + part * (endM - startM));
      }
      // The path has left the reach: the rest is another pass.
      if (Math.hypot(ax + dx, ay + dy) * degreeM > withinM) passes.end();
    }
  }
  passes.end();
  return passes.found;
}
