import { createHash } from 'node:crypto';
import { distanceToLineM, type FlatLine, toFlatLine } from '../../geometry/flat-lines.ts';
import { degreeM, distanceM, type Position, toRadians, unwrapLongitude } from '../../geometry/positions.ts';
import { toPairs } from '../../platform/coordinates.ts';
import type { StoredRoute } from './schema.ts';

/** The path of a route, prepared for searches. */
export interface RoutePath {
  /** Identifies the path and its stops. */
  readonly fingerprint: string;
  readonly line: FlatLine;
  /** Distance from the start to each point. */
  readonly cumulativeM: Float64Array;
  readonly totalM: number;
  /** South, west, north and east of each group of `segmentsPerBox` segments. */
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

const segmentsPerBox = 32;
/** Radius of start and end of a route without waypoints. */
const endRadiusM = 50;
/** A vehicle this far behind its last position has not turned back: fixes scatter. */
const gpsScatterM = 50;
const tieToleranceM = 2;

const cache = new WeakMap<StoredRoute, RoutePath>();

/** Returns the path of a route, created once for each loaded record. */
export function getRoutePath(route: StoredRoute): RoutePath {
  const cached = cache.get(route);
  if (cached !== undefined) return cached;
  const created = createRoutePath(route);
  cache.set(route, created);
  return created;
}

function createRoutePath(route: StoredRoute): RoutePath {
  const positions = toPairs(route.points);
  const line = toFlatLine(positions, false);
  const cumulativeM = new Float64Array(positions.length);
  for (let at = 1; at < positions.length; at += 1)
    cumulativeM[at] = (cumulativeM[at - 1] ?? 0) + distanceM(positions[at - 1] as Position, positions[at] as Position);
  const shape = JSON.stringify([route.points, route.waypoints.map(({ lat, lng, radiusM }) => [lat, lng, radiusM])]);
  const path: RoutePath = {
    fingerprint: createHash('sha256').update(shape).digest('base64url').slice(0, 8),
    line,
    cumulativeM,
    totalM: cumulativeM.at(-1) ?? 0,
    boxes: computeBoxes(line),
    stops: [],
    distanceM: ([latitude, longitude]) => distanceToLineM(line, latitude, longitude),
  };
  return { ...path, stops: computeStops(route, path, positions) };
}

function computeBoxes({ latitudes, longitudes }: FlatLine): Float64Array {
  const boxCount = Math.max(1, Math.ceil((latitudes.length - 1) / segmentsPerBox));
  const boxes = new Float64Array(boxCount * 4);
  for (let at = 0; at < boxCount; at += 1) {
    const from = at * segmentsPerBox;
    const [lats, lngs] = [latitudes, longitudes].map((all) => all.subarray(from, from + segmentsPerBox + 1));
    boxes.set(
      [Math.min(...(lats ?? [])), Math.min(...(lngs ?? [])), Math.max(...(lats ?? [])), Math.max(...(lngs ?? []))],
      at * 4,
    );
  }
  return boxes;
}

function computeStops({ waypoints, deviationM }: StoredRoute, path: RoutePath, positions: readonly Position[]): Stop[] {
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
    const alongM = end ?? findAlongM(path, lat, lng, Math.max(radiusM, deviationM), previousM, 0);
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
export const locateOnPath = (
  path: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  previousM: number | null,
): number | null => findAlongM(path, latitude, longitude, withinM, previousM ?? 0, gpsScatterM);

function findAlongM(
  path: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  previousM: number,
  backtrackM: number,
): number | null {
  return (
    search(path, latitude, longitude, withinM, { fromM: previousM - backtrackM, previousM }) ??
    search(path, latitude, longitude, withinM, { fromM: Number.NEGATIVE_INFINITY, previousM })
  );
}

interface SearchWindow {
  readonly fromM: number;
  readonly previousM: number;
}

/** Collects candidates within reach: the nearest of each pass, and of these the one next to the last position. */
class PassSelector {
  best: number | null = null;
  readonly #previousM: number;
  #offsetM = Number.POSITIVE_INFINITY;
  #alongM = 0;

  constructor(previousM: number) {
    this.#previousM = previousM;
  }

  add(offsetM: number, alongM: number): void {
    // Of two equally near candidates, the first one.
    if (offsetM >= this.#offsetM - tieToleranceM) return;
    this.#offsetM = offsetM;
    this.#alongM = alongM;
  }

  endPass(): void {
    if (this.#offsetM === Number.POSITIVE_INFINITY) return;
    this.#offsetM = Number.POSITIVE_INFINITY;
    const isNext =
      this.best === null || Math.abs(this.#alongM - this.#previousM) < Math.abs(this.best - this.#previousM);
    if (isNext) this.best = this.#alongM;
  }
}

/**
 * Returns the candidate that is nearest along the path to the last position; without one, the first segment within
 * reach.
 */
function search(
  { line, cumulativeM, boxes }: RoutePath,
  latitude: number,
  longitude: number,
  withinM: number,
  window: SearchWindow | null,
): number | null {
  const { latitudes, longitudes, middle } = line;
  const unwrappedLongitude = unwrapLongitude(longitude, middle);
  const scale = Math.cos(toRadians(latitude));
  const reach = withinM / degreeM;
  const reachLng = reach / Math.max(0.001, scale);
  const fromM = window?.fromM ?? Number.NEGATIVE_INFINITY;
  const selector = new PassSelector(window?.previousM ?? 0);
  for (let box = 0; box < boxes.length; box += 4) {
    const from = (box / 4) * segmentsPerBox;
    const to = Math.min(from + segmentsPerBox, latitudes.length - 1);
    const isOutOfReach =
      (cumulativeM[to] ?? 0) < fromM ||
      latitude < (boxes[box] ?? 0) - reach ||
      latitude > (boxes[box + 2] ?? 0) + reach ||
      unwrappedLongitude < (boxes[box + 1] ?? 0) - reachLng ||
      unwrappedLongitude > (boxes[box + 3] ?? 0) + reachLng;
    if (isOutOfReach) selector.endPass();
    const end = isOutOfReach ? from : to;
    for (let at = from; at < end; at += 1) {
      const [startM, endM] = [cumulativeM[at] ?? 0, cumulativeM[at + 1] ?? 0];
      const dx = ((longitudes[at + 1] ?? 0) - (longitudes[at] ?? 0)) * scale;
      const dy = (latitudes[at + 1] ?? 0) - (latitudes[at] ?? 0);
      const ax = ((longitudes[at] ?? 0) - unwrappedLongitude) * scale;
      const ay = (latitudes[at] ?? 0) - latitude;
      const square = dx * dx + dy * dy;
      const nearest = square === 0 ? 0 : Math.max(0, Math.min(1, -(ax * dx + ay * dy) / square));
      const fraction = endM > startM ? Math.max(nearest, (fromM - startM) / (endM - startM)) : 0;
      const offsetM =
        fraction > 1 ? Number.POSITIVE_INFINITY : Math.hypot(ax + fraction * dx, ay + fraction * dy) * degreeM;
      if (offsetM <= withinM) {
        if (window === null) return startM;
        selector.add(offsetM, startM + fraction * (endM - startM));
      }
      // The path has left the reach: the rest is another pass.
      if (Math.hypot(ax + dx, ay + dy) * degreeM > withinM) selector.endPass();
    }
  }
  selector.endPass();
  return selector.best;
}
