import { AppError, type ErrorDetail, validationError } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type Bounds, parseBbox } from '../geometry/bounds.ts';
import type { Position } from '../geometry/positions.ts';

/** Positions as they are stored, latitude and longitude in turn: the embedded database has no lists within lists. */
export const flattenPositions = (positions: readonly Position[]): number[] => positions.flat();

/** Stored positions as answers show them. */
export const toPairs = (values: readonly number[]): [number, number][] => {
  const pairs: [number, number][] = [];
  for (let at = 0; at + 1 < values.length; at += 2) pairs.push([values[at] ?? 0, values[at + 1] ?? 0]);
  return pairs;
};

/** Pairs as a caller writes them, in whatever order, as positions; 400 for one that is not on earth. */
export function parsePositions(
  pairs: readonly (readonly number[])[],
  order: 'latlng' | 'lnglat' = 'latlng',
  path = '/coordinates',
): Position[] {
  const faults: ErrorDetail[] = [];
  const positions = pairs.map((pair, at): Position => {
    const [first = 0, second = 0] = pair;
    const [latitude, longitude] = order === 'latlng' ? [first, second] : [second, first];
    if (Math.abs(latitude) > 90 || Math.abs(longitude) > 180)
      faults.push({ path: `${path}/${at}`, message: outOfRangeMessage(order) });
    // Databases do not take negative zero.
    return [latitude + 0, longitude + 0];
  });
  if (faults.length > 0) throw validationError(faults);
  return positions;
}

const outOfRangeMessage = (order: 'latlng' | 'lnglat'): string =>
  order === 'latlng'
    ? 'must be [latitude, longitude], -90 to 90 and -180 to 180; for the other order send coordinate_order "lnglat"'
    : 'must be [longitude, latitude], -180 to 180 and -90 to 90, as coordinate_order is "lnglat"';

/** `min_lat,min_lng,max_lat,max_lng` in a query. */
export const bboxParameter = Type.String({
  maxLength: 120,
  description: '`min_lat,min_lng,max_lat,max_lng`; across the date line min_lng is the larger one.',
  examples: ['22.4,113.8,22.8,114.6'],
});

/** The rectangle of a query, or 400. */
export function parseBboxParameter(text: string): Bounds {
  const bounds = parseBbox(text);
  if (bounds !== null) return bounds;
  throw new AppError('validation_failed', 'The query parameter bbox must be min_lat,min_lng,max_lat,max_lng.', {
    details: [{ path: '/bbox', message: 'must be min_lat,min_lng,max_lat,max_lng' }],
  });
}
