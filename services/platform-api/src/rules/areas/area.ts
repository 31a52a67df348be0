import { createHash } from 'node:crypto';
import type { Geofence } from '../../domains/geofences/schema.ts';
import { type Bounds, computeBounds } from '../../geometry/bounds.ts';
import { distanceToLineM, isInFlatRing, toFlatLine } from '../../geometry/flat-lines.ts';
import { lineLengthM } from '../../geometry/lines.ts';
import { distanceM, type Position } from '../../geometry/positions.ts';
import { toPairs } from '../../platform/coordinates.ts';

/** Distance from an edge within which the side is undecided. */
export const marginM = 10;

/** A geofence prepared for measurements. */
export interface Area {
  readonly geofence: Geofence;
  /** Identifies the geofence and its shape. */
  readonly code: string;
  /** Including the margin. */
  readonly bounds: Bounds;
  /** Depth at which a position is certainly inside: the margin, less for a small area. */
  readonly innerM: number;
  /** Signed distance of a position from the edge: negative outside. */
  readonly depthM: (latitude: number, longitude: number) => number;
}

/** Characters of a code: a collision has a probability of one in a billion. */
export const codeLength = 5;

const known = new WeakMap<Geofence, Area>();

/** Returns the area of a geofence, created once for each loaded record. */
export function toArea(geofence: Geofence): Area {
  const found = known.get(geofence);
  if (found !== undefined) return found;
  const { type, points, radiusM, widthM } = geofence;
  const shape = JSON.stringify([geofence._id, type, points, radiusM, widthM]);
  const code = createHash('sha256').update(shape).digest('base64url').slice(0, codeLength);
  const made: Area = { geofence, code, ...createMeasures(geofence, toPairs(points)) };
  known.set(geofence, made);
  return made;
}

/** Returns the same as `depthM`, but negative infinity beyond the margin without measuring. */
export function depthWithinBoundsM({ bounds, depthM }: Area, latitude: number, longitude: number): number {
  const isAtLatitude = latitude >= bounds.minLat && latitude <= bounds.maxLat;
  const isAtLongitude = (longitude >= bounds.minLng && longitude <= bounds.maxLng) || longitude + 360 <= bounds.maxLng;
  return isAtLatitude && isAtLongitude ? depthM(latitude, longitude) : Number.NEGATIVE_INFINITY;
}

type Measures = Pick<Area, 'bounds' | 'innerM' | 'depthM'>;

function createMeasures({ type, radiusM, widthM, areaM2 }: Geofence, positions: readonly Position[]): Measures {
  if (type === 'circle') return circle(positions[0] ?? [0, 0], radiusM ?? 0);
  if (type === 'corridor') return corridor(positions, (widthM ?? 0) / 2);
  const ring = toFlatLine(positions, true);
  const aroundM = lineLengthM([...positions, ...positions.slice(0, 1)]);
  return {
    bounds: computeBounds(positions, marginM),
    // An eighth of a square's side, a quarter of a narrow strip's width.
    innerM: Math.min(marginM, areaM2 / (2 * aroundM)),
    depthM: (latitude, longitude) => {
      const edgeM = distanceToLineM(ring, latitude, longitude);
      return isInFlatRing(ring, latitude, longitude) ? edgeM : -edgeM;
    },
  };
}

const circle = (centre: Position, radiusM: number): Measures => ({
  bounds: computeBounds([centre], radiusM + marginM),
  innerM: Math.min(marginM, radiusM / 2),
  depthM: (latitude, longitude) => radiusM - distanceM([latitude, longitude], centre),
});

function corridor(positions: readonly Position[], halfM: number): Measures {
  const line = toFlatLine(positions, false);
  return {
    bounds: computeBounds(positions, halfM + marginM),
    innerM: Math.min(marginM, halfM / 2),
    depthM: (latitude, longitude) => halfM - distanceToLineM(line, latitude, longitude),
  };
}
