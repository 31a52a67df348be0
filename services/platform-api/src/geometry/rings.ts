import { booleanPointInPolygon } from '@turf/boolean-point-in-polygon';
import { orient2d } from 'robust-predicates';
import { computeBounds, unwrapLongitudes } from './bounds.ts';
import { earthRadiusM, type Position, toRadians, unwrapLongitude } from './positions.ts';

/** Returns the corners as stored, without a last one that repeats the first. */
export function withoutClosingCorner(corners: readonly Position[]): Position[] {
  const [first, last] = [corners[0], corners.at(-1)];
  const isClosed = corners.length > 1 && first?.[0] === last?.[0] && first?.[1] === last?.[1];
  return isClosed ? corners.slice(0, -1) : [...corners];
}

/** Returns the fault of a ring as the predicate of a sentence, or null. */
export function findRingFault(corners: readonly Position[]): string | null {
  if (corners.length < 3) return 'must have at least 3 different corners';
  const ring = unwrapLongitudes(corners).map(snapToGrid);
  const [start, end] = [ring[0] as Position, ring.at(-1) as Position];
  if (Math.abs(start[1] - end[1]) > 180) return 'must not go around a pole';
  if (hasDuplicateCorner(ring)) return 'must not pass through the same corner twice';
  if (isSelfIntersecting(ring)) return 'must not cross or touch itself';
  return isFlat(ring) || areaM2(corners) === 0 ? 'must have an area above zero' : null;
}

/** A tenth of a millimetre, in degrees. */
const gridDegrees = 1e-9;

/**
 * Returns true for a ring that encloses nothing but rounding errors. Corners on one line are rarely exactly on it, as
 * most decimals have no exact double. The area is therefore compared with that of a strip along the same outline, one
 * grid step wide.
 */
function isFlat(ring: readonly Position[]): boolean {
  const [origin] = ring as [Position];
  let doubleArea = 0;
  let outline = 0;
  for (const [at, [latitude, longitude]] of ring.entries()) {
    const [nextLatitude, nextLongitude] = ring[(at + 1) % ring.length] as Position;
    // Offsets from a corner, because products of absolute degrees would lose significant digits.
    doubleArea +=
      (longitude - origin[1]) * (nextLatitude - origin[0]) - (nextLongitude - origin[1]) * (latitude - origin[0]);
    outline += Math.hypot(nextLatitude - latitude, nextLongitude - longitude);
  }
  return Math.abs(doubleArea) / 2 <= gridDegrees * outline;
}

/** Rounds to the grid; positions closer together than the grid are equal. */
const snapToGrid = ([latitude, longitude]: Position): Position => [
  Math.round(latitude * 1e9) / 1e9,
  Math.round(longitude * 1e9) / 1e9,
];

const hasDuplicateCorner = (ring: readonly Position[]): boolean =>
  new Set(ring.map(([latitude, longitude]) => `${latitude},${longitude}`)).size < ring.length;

function isSelfIntersecting(ring: readonly Position[]): boolean {
  const count = ring.length;
  const corner = (at: number): Position => ring[at % count] as Position;
  for (let i = 0; i < count; i += 1) {
    // Neighbours share a corner. They overlap only if the ring turns back on itself there.
    if (hasSpike(corner(i), corner(i + 1), corner(i + 2))) return true;
    for (let j = i + 2; j < count; j += 1) {
      if (i === 0 && j === count - 1) continue;
      if (segmentsIntersect(corner(i), corner(i + 1), corner(j), corner(j + 1))) return true;
    }
  }
  return false;
}

function hasSpike(a: Position, b: Position, c: Position): boolean {
  if (orient2d(a[0], a[1], b[0], b[1], c[0], c[1]) !== 0) return false;
  return (a[0] - b[0]) * (c[0] - b[0]) + (a[1] - b[1]) * (c[1] - b[1]) > 0;
}

/** Returns true if two segments have a point in common. */
function segmentsIntersect(a: Position, b: Position, c: Position, d: Position): boolean {
  const side = (p: Position, q: Position, r: Position): number =>
    Math.sign(orient2d(p[0], p[1], q[0], q[1], r[0], r[1]));
  const [c1, d1, a1, b1] = [side(a, b, c), side(a, b, d), side(c, d, a), side(c, d, b)];
  if (c1 * d1 < 0 && a1 * b1 < 0) return true;
  return (
    (c1 === 0 && isBetween(c, a, b)) ||
    (d1 === 0 && isBetween(d, a, b)) ||
    (a1 === 0 && isBetween(a, c, d)) ||
    (b1 === 0 && isBetween(b, c, d))
  );
}

const isBetween = (p: Position, a: Position, b: Position): boolean =>
  Math.min(a[0], b[0]) <= p[0] &&
  p[0] <= Math.max(a[0], b[0]) &&
  Math.min(a[1], b[1]) <= p[1] &&
  p[1] <= Math.max(a[1], b[1]);

/** Returns the area of a ring on the sphere (Chamberlain and Duquette). */
export function areaM2(corners: readonly Position[]): number {
  const ring = unwrapLongitudes(corners);
  let sum = 0;
  for (let at = 0; at < ring.length; at += 1) {
    const before = ring[(at + ring.length - 1) % ring.length] as Position;
    const here = ring[at] as Position;
    const after = ring[(at + 1) % ring.length] as Position;
    sum += toRadians(after[1] - before[1]) * Math.sin(toRadians(here[0]));
  }
  return Math.abs((sum * earthRadiusM * earthRadiusM) / 2);
}

/** Returns true if a position lies in a ring or on its edge. */
export function isInRing([latitude, longitude]: Position, corners: readonly Position[]): boolean {
  const ring = unwrapLongitudes(corners);
  const { minLng, maxLng } = computeBounds(ring);
  const middle = (minLng + maxLng) / 2;
  const outline = [...ring, ring[0] as Position].map(([lat, lng]) => [lng, lat]);
  return booleanPointInPolygon([unwrapLongitude(longitude, middle), latitude], {
    type: 'Polygon',
    coordinates: [outline],
  });
}
