import { type ErrorDetail, validationError } from '@fleet/service-kit';
import { type Bounds, computeBounds, isWithin } from '../../geometry/bounds.ts';
import { distanceToLineM, isInFlatRing, toFlatLine } from '../../geometry/flat-lines.ts';
import { lineLengthM, nearestOnLine } from '../../geometry/lines.ts';
import { destination, distanceM, type Position } from '../../geometry/positions.ts';
import { areaM2, findRingFault, isInRing, withoutClosingCorner } from '../../geometry/rings.ts';
import { flattenPositions, toPairs } from '../../platform/coordinates.ts';
import type { Geofence, GeofenceType } from './schema.ts';

/** Area of a geofence. */
type Shape = Pick<Geofence, 'type' | 'points' | 'radiusM' | 'widthM'>;

const maxCorners = 500;
const circleCorners = 64;

/** Area in a request, completed with the stored fields. */
export interface ShapeInput {
  readonly type: GeofenceType;
  readonly positions: readonly Position[];
  readonly radiusM: number | null;
  readonly widthM: number | null;
}

/** Validates an area and calculates its stored fields; throws 400 with all faults. */
export function buildShape(input: ShapeInput): Shape & { readonly bounds: Bounds; readonly areaM2: number } {
  const faults = [...findSizeFaults(input), ...findPositionFaults(input)];
  if (faults.length > 0) throw validationError(faults);
  const { type, radiusM, widthM } = input;
  const positions = type === 'polygon' ? withoutClosingCorner(input.positions) : input.positions;
  const marginM = radiusM ?? (widthM ?? 0) / 2;
  return {
    type,
    points: flattenPositions(positions),
    radiusM,
    widthM,
    bounds: computeBounds(positions, marginM),
    areaM2: Math.round(computeAreaM2(type, positions, marginM)),
  };
}

function findSizeFaults({ type, radiusM, widthM }: ShapeInput): ErrorDetail[] {
  const faults: ErrorDetail[] = [];
  if (type === 'circle' && radiusM === null) faults.push({ path: '/radius_m', message: 'is required for a circle' });
  if (type === 'corridor' && widthM === null) faults.push({ path: '/width_m', message: 'is required for a corridor' });
  if (type !== 'circle' && radiusM !== null)
    faults.push({ path: '/radius_m', message: 'is only allowed for a circle' });
  if (type !== 'corridor' && widthM !== null)
    faults.push({ path: '/width_m', message: 'is only allowed for a corridor' });
  return faults;
}

function findPositionFaults({ type, positions }: ShapeInput): ErrorDetail[] {
  const fault = (message: string | null): ErrorDetail[] =>
    message === null ? [] : [{ path: '/coordinates', message }];
  if (type === 'circle') return fault(positions.length === 1 ? null : 'must be one pair: the centre of the circle');
  if (type === 'polygon') {
    const ring = withoutClosingCorner(positions);
    return fault(ring.length > maxCorners ? `must have at most ${maxCorners} corners` : findRingFault(ring));
  }
  if (positions.length < 2 || positions.length > maxCorners)
    return fault(`must have 2 to ${maxCorners} points for a corridor`);
  return fault(lineLengthM(positions) > 0 ? null : 'must have at least two different points');
}

function computeAreaM2(type: GeofenceType, positions: readonly Position[], marginM: number): number {
  if (type === 'polygon') return areaM2(positions);
  const ends = Math.PI * marginM ** 2;
  return type === 'circle' ? ends : lineLengthM(positions) * marginM * 2 + ends;
}

/** Returns true if a position lies in a geofence, including its edge. */
export function contains(geofence: Shape & Pick<Geofence, 'bounds'>, position: Position): boolean {
  const { type, points, radiusM, widthM, bounds } = geofence;
  if (!isWithin(position, bounds)) return false;
  const positions = toPairs(points);
  if (type === 'polygon') return isInRing(position, positions);
  const [centre] = positions;
  if (type === 'circle') return centre !== undefined && distanceM(position, centre) <= (radiusM ?? 0);
  return (nearestOnLine(position, positions)?.distanceM ?? Number.POSITIVE_INFINITY) <= (widthM ?? 0) / 2;
}

/** Positions up to a millimetre from the edge count as on the edge. */
const edgeM = 0.001;

/**
 * Returns a function like `contains` for many positions; everything that does not depend on them is calculated once.
 */
export function createContainsCheck(geofence: Shape & Pick<Geofence, 'bounds'>): (position: Position) => boolean {
  const { type, points, radiusM, widthM, bounds } = geofence;
  const positions = toPairs(points);
  const line = toFlatLine(positions, type === 'polygon');
  const isIn = (position: Position): boolean => {
    const [latitude, longitude] = position;
    if (type === 'corridor') return distanceToLineM(line, latitude, longitude) <= (widthM ?? 0) / 2;
    if (type === 'polygon')
      return isInFlatRing(line, latitude, longitude) || distanceToLineM(line, latitude, longitude) <= edgeM;
    const [centre] = positions;
    return centre !== undefined && distanceM(position, centre) <= (radiusM ?? 0);
  };
  return (position) => isWithin(position, bounds) && isIn(position);
}

/** Returns a position in the middle of an area, for display on a map. */
export function displayPosition({ type, points, bounds }: Pick<Geofence, 'type' | 'points' | 'bounds'>): Position {
  const positions = toPairs(points);
  const middle = type === 'corridor' ? positions[Math.floor(positions.length / 2)] : positions[0];
  if (type !== 'polygon' && middle !== undefined) return middle;
  const longitude = (bounds.minLng + bounds.maxLng) / 2;
  return [(bounds.minLat + bounds.maxLat) / 2, longitude > 180 ? longitude - 360 : longitude];
}

/** Returns the GeoJSON geometry of an area: longitude first, rings closed and counterclockwise. */
export function toGeoJsonGeometry({ type, points, radiusM }: Shape): {
  type: 'Polygon' | 'LineString';
  coordinates: unknown[][];
} {
  const positions = toPairs(points);
  const lngLat = (line: readonly Position[]): number[][] => line.map(([latitude, longitude]) => [longitude, latitude]);
  if (type === 'corridor') return { type: 'LineString', coordinates: lngLat(positions) };
  const [centre] = positions;
  const ring =
    type === 'circle' && centre !== undefined ? circleRing(centre, radiusM ?? 0) : counterclockwise(positions);
  return { type: 'Polygon', coordinates: [lngLat([...ring, ...ring.slice(0, 1)])] };
}

/** Bearings increase clockwise, so they are used in reverse order. */
const circleRing = (centre: Position, radiusM: number): Position[] =>
  Array.from({ length: circleCorners }, (_unused, at) => {
    const [latitude, longitude] = destination(centre, 360 - (360 * at) / circleCorners, radiusM);
    return [rounded(latitude), rounded(longitude)];
  });

const rounded = (value: number): number => Math.round(value * 1e7) / 1e7;

function counterclockwise(ring: readonly Position[]): readonly Position[] {
  const sum = ring.reduce((total, [latitude, longitude], at) => {
    const [nextLatitude, nextLongitude] = ring[(at + 1) % ring.length] as Position;
    const across = nextLongitude - longitude;
    return total + (across - 360 * Math.round(across / 360)) * (nextLatitude + latitude);
  }, 0);
  return sum > 0 ? [...ring].reverse() : ring;
}
