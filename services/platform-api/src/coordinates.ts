import { type ErrorDetail, invalid } from '@fleet/service-kit';
import type { Position } from './geometry/positions.ts';

/** Positions as they are stored, latitude and longitude in turn: the embedded database has no lists within lists. */
export const flat = (positions: readonly Position[]): number[] => positions.flat();

/** Stored positions as answers show them. */
export const pairs = (points: readonly number[]): [number, number][] => {
  const found: [number, number][] = [];
  for (let at = 0; at + 1 < points.length; at += 2) found.push([points[at] ?? 0, points[at + 1] ?? 0]);
  return found;
};

/** Pairs as a caller writes them, in whatever order, as positions; 400 for one that is not on earth. */
export function positionsOf(
  given: readonly (readonly number[])[],
  order: 'latlng' | 'lnglat' = 'latlng',
  path = '/coordinates',
): Position[] {
  const faults: ErrorDetail[] = [];
  const positions = given.map((pair, at): Position => {
    const [first = 0, second = 0] = pair;
    const [latitude, longitude] = order === 'latlng' ? [first, second] : [second, first];
    if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180)
      faults.push({ path: `${path}/${at}`, message: outOfRange(order) });
    // Databases do not take negative zero.
    return [latitude + 0, longitude + 0];
  });
  if (faults.length > 0) throw invalid(faults);
  return positions;
}

const outOfRange = (order: 'latlng' | 'lnglat'): string =>
  order === 'latlng'
    ? 'must be [latitude, longitude], -90 to 90 and -180 to 180; for the other order send coordinate_order "lnglat"'
    : 'must be [longitude, latitude], -180 to 180 and -90 to 90, as coordinate_order is "lnglat"';
