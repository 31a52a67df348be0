import { AppError, type ErrorDetail, validationError } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type Bounds, parseBbox } from '../geometry/bounds.ts';
import type { Position } from '../geometry/positions.ts';

/**
 * Converts positions to the stored form, alternating latitudes and longitudes, because the embedded database has no
 * nested lists.
 */
export const flattenPositions = (positions: readonly Position[]): number[] => positions.flat();

/** Converts stored positions to the form of responses. */
export const toPairs = (values: readonly number[]): [number, number][] => {
  const pairs: [number, number][] = [];
  for (let at = 0; at + 1 < values.length; at += 2) pairs.push([values[at] ?? 0, values[at + 1] ?? 0]);
  return pairs;
};

/** Parses pairs in the caller's order as positions. Throws 400 if one is out of range. */
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
    // Databases do not store negative zero.
    return [latitude + 0, longitude + 0];
  });
  if (faults.length > 0) throw validationError(faults);
  return positions;
}

const outOfRangeMessage = (order: 'latlng' | 'lnglat'): string =>
  order === 'latlng'
    ? 'must be [latitude, longitude], -90 to 90 and -180 to 180; for the other order send coordinate_order "lnglat"'
    : 'must be [longitude, latitude], -180 to 180 and -90 to 90, as coordinate_order is "lnglat"';

/** The query parameter `bbox`: `min_lat,min_lng,max_lat,max_lng`. */
export const bboxParameter = Type.String({
  maxLength: 120,
  description: '`min_lat,min_lng,max_lat,max_lng`; across the date line min_lng is the larger one.',
  examples: ['22.4,113.8,22.8,114.6'],
});

/** Parses the rectangle of a query. Throws 400 if it is invalid. */
export function parseBboxParameter(text: string): Bounds {
  const bounds = parseBbox(text);
  if (bounds !== null) return bounds;
  throw new AppError('validation_failed', 'The query parameter bbox must be min_lat,min_lng,max_lat,max_lng.', {
    details: [{ path: '/bbox', message: 'must be min_lat,min_lng,max_lat,max_lng' }],
  });
}
