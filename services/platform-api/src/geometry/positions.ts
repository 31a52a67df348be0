/** WGS-84 degrees. Every pair of numbers in the Platform API has this order (docs/reference/conventions.md). */
export type Position = readonly [latitude: number, longitude: number];

/** Mean radius of the earth. */
export const earthRadiusM = 6_371_008.8;

export const toRadians = (degrees: number): number => (degrees * Math.PI) / 180;
const toDegrees = (radians: number): number => (radians * 180) / Math.PI;

/** Metres per degree of latitude. */
export const degreeM = toRadians(1) * earthRadiusM;

/** Returns the same meridian as a value from -180 up to 180. */
export function normalizeLongitude(longitude: number): number {
  if (longitude >= -180 && longitude <= 180) return longitude;
  return ((((longitude + 180) % 360) + 360) % 360) - 180;
}

/**
 * Returns the equivalent longitude nearest to another one. It may exceed 180, which lets a line cross the date line
 * without a jump.
 */
export const unwrapLongitude = (longitude: number, to: number): number =>
  longitude - 360 * Math.round((longitude - to) / 360);

/** Returns the great circle distance. */
export function distanceM(a: Position, b: Position): number {
  const [lat1, lat2] = [toRadians(a[0]), toRadians(b[0])];
  const half =
    Math.sin((lat2 - lat1) / 2) ** 2 + Math.cos(lat1) * Math.cos(lat2) * Math.sin(toRadians(b[1] - a[1]) / 2) ** 2;
  return 2 * earthRadiusM * Math.asin(Math.min(1, Math.sqrt(half)));
}

/** Returns the initial bearing of the great circle between two positions, clockwise from north, 0 up to 360. */
export function bearingDeg(from: Position, to: Position): number {
  const [lat1, lat2] = [toRadians(from[0]), toRadians(to[0])];
  const across = toRadians(to[1] - from[1]);
  const y = Math.sin(across) * Math.cos(lat2);
  const x = Math.cos(lat1) * Math.sin(lat2) - Math.sin(lat1) * Math.cos(lat2) * Math.cos(across);
  return (toDegrees(Math.atan2(y, x)) + 360) % 360;
}

/** Returns the position at a distance and bearing from another one. */
export function destination(from: Position, bearing: number, lengthM: number): Position {
  const angle = lengthM / earthRadiusM;
  const [lat1, way] = [toRadians(from[0]), toRadians(bearing)];
  const sin = Math.sin(lat1) * Math.cos(angle) + Math.cos(lat1) * Math.sin(angle) * Math.cos(way);
  const lat2 = Math.asin(Math.max(-1, Math.min(1, sin)));
  const across = Math.atan2(
    Math.sin(way) * Math.sin(angle) * Math.cos(lat1),
    Math.cos(angle) - Math.sin(lat1) * Math.sin(lat2),
  );
  return [toDegrees(lat2), normalizeLongitude(from[1] + toDegrees(across))];
}

const compassPoints = ['N', 'NE', 'E', 'SE', 'S', 'SW', 'W', 'NW'] as const;

/** Returns the nearest of the eight points of the compass. */
export const compassPoint = (bearing: number): (typeof compassPoints)[number] =>
  compassPoints[Math.round(bearing / 45) % 8] ?? 'N';
