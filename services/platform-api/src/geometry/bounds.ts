import { parseFiniteNumber } from '@fleet/service-kit';
import { degreeM, normalizeLongitude, type Position, toRadians, unwrapLongitude } from './positions.ts';

/** A rectangle. If it crosses the date line, `maxLng` is above 180, so that it is never below `minLng`. */
export interface Bounds {
  readonly minLat: number;
  readonly minLng: number;
  readonly maxLat: number;
  readonly maxLng: number;
}

/** Returns a line whose longitudes do not jump at the date line: each is the one nearest to its predecessor. */
export function unwrapLongitudes(line: readonly Position[]): Position[] {
  let last = line[0]?.[1] ?? 0;
  return line.map(([latitude, longitude]) => {
    last = unwrapLongitude(longitude, last);
    return [latitude, last];
  });
}

/** Returns the smallest rectangle around a line, with a margin on each side. */
export function computeBounds(line: readonly Position[], marginM = 0): Bounds {
  const positions = unwrapLongitudes(line);
  let [minLat, minLng, maxLat, maxLng] = [90, Number.POSITIVE_INFINITY, -90, Number.NEGATIVE_INFINITY];
  for (const [latitude, longitude] of positions) {
    minLat = Math.min(minLat, latitude);
    maxLat = Math.max(maxLat, latitude);
    minLng = Math.min(minLng, longitude);
    maxLng = Math.max(maxLng, longitude);
  }
  return marginM === 0
    ? shiftBounds({ minLat, minLng, maxLat, maxLng })
    : growBounds({ minLat, minLng, maxLat, maxLng }, marginM);
}

function growBounds(bounds: Bounds, marginM: number): Bounds {
  const lat = marginM / degreeM;
  const [minLat, maxLat] = [bounds.minLat - lat, bounds.maxLat + lat];
  // Within the margin of a pole every meridian is near.
  if (minLat <= -90 || maxLat >= 90)
    return { minLat: Math.max(-90, minLat), maxLat: Math.min(90, maxLat), minLng: -180, maxLng: 180 };
  // A circle is widest slightly closer to the pole than its centre.
  const widest = Math.max(Math.abs(bounds.minLat), Math.abs(bounds.maxLat));
  const ratio = Math.sin(toRadians(lat)) / Math.cos(toRadians(widest));
  if (ratio >= 1) return { minLat, maxLat, minLng: -180, maxLng: 180 };
  const lng = (Math.asin(ratio) * 180) / Math.PI;
  return shiftBounds({ minLat, maxLat, minLng: bounds.minLng - lng, maxLng: bounds.maxLng + lng });
}

/** Returns the same rectangle with its western side between -180 and 180. */
function shiftBounds(bounds: Bounds): Bounds {
  const width = bounds.maxLng - bounds.minLng;
  if (width >= 360) return { ...bounds, minLng: -180, maxLng: 180 };
  const minLng = bounds.minLng === 180 && width > 0 ? -180 : normalizeLongitude(bounds.minLng);
  // Returns an unmoved rectangle unchanged, because rounding of the sum might exclude the easternmost corner.
  return minLng === bounds.minLng ? bounds : { ...bounds, minLng, maxLng: minLng + width };
}

/**
 * Formats a rectangle as in records, `[min_lat, min_lng, max_lat, max_lng]`. Across the date line the last longitude is
 * the smaller one, as in GeoJSON.
 */
export const formatBbox = ({ minLat, minLng, maxLat, maxLng }: Bounds): number[] =>
  [minLat, minLng, maxLat, normalizeLongitude(maxLng)].map(roundCoordinate);

const roundCoordinate = (value: number): number => Math.round(value * 1e7) / 1e7;

/** Parses `min_lat,min_lng,max_lat,max_lng`; returns null if the text is invalid. */
export function parseBbox(text: string): Bounds | null {
  const parts = text.split(',').map((part) => parseFiniteNumber(part.trim()));
  if (parts.length !== 4 || parts.includes(undefined)) return null;
  const [minLat = 0, minLng = 0, maxLat = 0, maxLng = 0] = parts;
  const isOnEarth = minLat >= -90 && maxLat <= 90 && Math.abs(minLng) <= 180 && Math.abs(maxLng) <= 180;
  if (!isOnEarth || minLat > maxLat) return null;
  return { minLat, minLng, maxLat, maxLng: maxLng < minLng ? maxLng + 360 : maxLng };
}

/** Returns true if two rectangles have a position in common. */
export const boundsOverlap = (a: Bounds, b: Bounds): boolean =>
  a.minLat <= b.maxLat &&
  a.maxLat >= b.minLat &&
  [-360, 0, 360].some((offset) => a.minLng <= b.maxLng + offset && a.maxLng >= b.minLng + offset);

/** Returns true if a position lies in a rectangle or on its sides. */
export const isWithin = ([latitude, longitude]: Position, bounds: Bounds): boolean =>
  boundsOverlap({ minLat: latitude, maxLat: latitude, minLng: longitude, maxLng: longitude }, bounds);
