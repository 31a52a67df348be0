import { degreeM, type Position, toRadians, unwrapLongitude } from '../../geometry/positions.ts';

/**
 * Number of points that are simplified together. In the worst case, a zigzag, the time grows with the square of this
 * number.
 */
const batchSize = 1_000;

/**
 * Positions as plain numbers, because each is read many times: degrees, longitudes without a jump at the date line, and
 * the cosine of each latitude.
 */
interface FlatPositions {
  readonly latitudes: Float64Array;
  readonly longitudes: Float64Array;
  readonly scales: Float64Array;
}

/**
 * Simplifies a line by Douglas-Peucker: no removed point is further from the line than the tolerance. The first and the
 * last point are retained, and one in a thousand.
 */
export function simplify<T>(points: readonly T[], toleranceM: number, placeOf: (point: T) => Position): T[] {
  if (toleranceM <= 0 || points.length <= 2) return [...points];
  const places = toFlatPositions(points.map(placeOf));
  const stays = new Uint8Array(points.length);
  stays[points.length - 1] = 1;
  for (let first = 0; first < points.length - 1; first += batchSize) {
    stays[first] = 1;
    markBends(places, stays, first, Math.min(first + batchSize, points.length - 1), toleranceM);
  }
  return points.filter((_point, at) => stays[at] === 1);
}

function toFlatPositions(positions: readonly Position[]): FlatPositions {
  const latitudes = Float64Array.from(positions, ([latitude]) => latitude);
  const longitudes = Float64Array.from(positions, ([, longitude]) => longitude);
  for (let at = 1; at < longitudes.length; at += 1)
    longitudes[at] = unwrapLongitude(longitudes[at] ?? 0, longitudes[at - 1] ?? 0);
  return { latitudes, longitudes, scales: latitudes.map((latitude) => Math.cos(toRadians(latitude))) };
}

function markBends(places: FlatPositions, stays: Uint8Array, from: number, to: number, toleranceM: number): void {
  const limit = (toleranceM / degreeM) ** 2;
  // Iterative, because a zigzag would recurse a thousand levels deep.
  const open: [number, number][] = [[from, to]];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    const [first, last] = part;
    let [farthest, most] = [first, limit];
    for (let at = first + 1; at < last; at += 1) {
      const square = squareFrom(places, at, first, last);
      if (square > most) [farthest, most] = [at, square];
    }
    if (farthest === first) continue;
    stays[farthest] = 1;
    open.push([first, farthest], [farthest, last]);
  }
}

/**
 * Returns the squared distance of a position from the segment between two others, in degrees of latitude. The geometry
 * is flat around the position.
 */
function squareFrom({ latitudes, longitudes, scales }: FlatPositions, at: number, from: number, to: number): number {
  const scale = scales[at] ?? 1;
  const ax = ((longitudes[from] ?? 0) - (longitudes[at] ?? 0)) * scale;
  const ay = (latitudes[from] ?? 0) - (latitudes[at] ?? 0);
  const dx = ((longitudes[to] ?? 0) - (longitudes[from] ?? 0)) * scale;
  const dy = (latitudes[to] ?? 0) - (latitudes[from] ?? 0);
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : -(ax * dx + ay * dy) / length;
  const part = along < 0 ? 0 : along > 1 ? 1 : along;
  const x = ax + part * dx;
  const y = ay + part * dy;
  return x * x + y * y;
}
