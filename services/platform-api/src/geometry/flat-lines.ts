import { unwrapLongitudes } from './bounds.ts';
import { degreeM, type Position, toRadians, unwrapLongitude } from './positions.ts';

/** A line prepared for many measurements that allocate nothing. Its longitudes do not jump at the date line. */
export interface FlatLine {
  readonly latitudes: Float64Array;
  readonly longitudes: Float64Array;
  /** The meridian in the middle. Longitudes of positions are unwrapped to be near it. */
  readonly middle: number;
}

/** Prepares a line of at least one position; a ring is closed with its first position. */
export function toFlatLine(positions: readonly Position[], isRing: boolean): FlatLine {
  const line = unwrapLongitudes(isRing ? [...positions, ...positions.slice(0, 1)] : positions);
  const longitudes = Float64Array.from(line, ([, longitude]) => longitude);
  let [west, east] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const longitude of longitudes) {
    west = Math.min(west, longitude);
    east = Math.max(east, longitude);
  }
  return { latitudes: Float64Array.from(line, ([latitude]) => latitude), longitudes, middle: (west + east) / 2 };
}

// Plain variables and loops, because this code runs for each fix near each geofence.

/**
 * Returns the distance to the nearest point of a section of a line, by default the whole line. Uses flat geometry
 * around the position, as `nearestOnSegment`.
 */
export function distanceToLineM(
  { latitudes, longitudes, middle }: FlatLine,
  latitude: number,
  longitude: number,
  from = 0,
  to = latitudes.length - 1,
): number {
  const scale = Math.cos(toRadians(latitude));
  const here = unwrapLongitude(longitude, middle);
  let ax = ((longitudes[from] ?? 0) - here) * scale;
  let ay = (latitudes[from] ?? 0) - latitude;
  let best = ax * ax + ay * ay;
  for (let at = from + 1; at <= to; at += 1) {
    const bx = ((longitudes[at] ?? 0) - here) * scale;
    const by = (latitudes[at] ?? 0) - latitude;
    const dx = bx - ax;
    const dy = by - ay;
    const square = dx * dx + dy * dy;
    const part = square === 0 ? 0 : Math.max(0, Math.min(1, -(ax * dx + ay * dy) / square));
    const px = ax + part * dx;
    const py = ay + part * dy;
    best = Math.min(best, px * px + py * py);
    ax = bx;
    ay = by;
  }
  return Math.sqrt(best) * degreeM;
}

/** Returns true if a position lies in a ring. The result is undefined for positions on its edge. */
export function isInFlatRing(
  { latitudes, longitudes, middle }: FlatLine,
  latitude: number,
  longitude: number,
): boolean {
  const here = unwrapLongitude(longitude, middle);
  let isIn = false;
  for (let at = 1; at < latitudes.length; at += 1) {
    const y1 = latitudes[at - 1] ?? 0;
    const y2 = latitudes[at] ?? 0;
    if (y1 > latitude === y2 > latitude) continue;
    const x1 = longitudes[at - 1] ?? 0;
    const x2 = longitudes[at] ?? 0;
    if (here < x1 + ((latitude - y1) / (y2 - y1)) * (x2 - x1)) isIn = !isIn;
  }
  return isIn;
}
