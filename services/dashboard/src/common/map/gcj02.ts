import { toMercatorX, toMercatorY } from './mercator.ts';

/** A tile of the square world map: `x` and `y` count from the north-west. */
export interface TilePlace {
  readonly z: number;
  readonly x: number;
  readonly y: number;
}

/** Semi-major axis of the ellipsoid of Krassowsky 1940, in metres, and the square of its eccentricity. */
const semiMajorAxisM = 6_378_245;
const eccentricitySquared = 0.006_693_421_622_965_943;

const sine = (value: number): number => Math.sin(value * Math.PI);
const wave = (x: number): number => (20 * sine(6 * x) + 20 * sine(2 * x)) * (2 / 3);

/** Northward part of the distortion in metres, from degrees east of 105° E and north of 35° N. */
const northM = (x: number, y: number): number =>
  -100 +
  2 * x +
  3 * y +
  0.2 * y * y +
  0.1 * x * y +
  0.2 * Math.sqrt(Math.abs(x)) +
  wave(x) +
  (20 * sine(y) + 40 * sine(y / 3)) * (2 / 3) +
  (160 * sine(y / 12) + 320 * sine(y / 30)) * (2 / 3);

/** Eastward part of the distortion in metres. */
const eastM = (x: number, y: number): number =>
  300 +
  x +
  2 * y +
  0.1 * x * x +
  0.1 * x * y +
  0.1 * Math.sqrt(Math.abs(x)) +
  wave(x) +
  (20 * sine(x) + 40 * sine(x / 3)) * (2 / 3) +
  (150 * sine(x / 12) + 300 * sine(x / 30)) * (2 / 3);

/** The conversion is defined in this rectangle around China. */
const isDefined = (longitude: number, latitude: number): boolean =>
  longitude > 72.004 && longitude < 137.8347 && latitude > 0.8293 && latitude < 55.8271;

/** Converts a position (longitude, latitude) from WGS 84 to GCJ-02. */
function toGcj02([longitude, latitude]: readonly [number, number]): readonly [number, number] {
  if (!isDefined(longitude, latitude)) return [longitude, latitude];
  const [x, y] = [longitude - 105, latitude - 35];
  const radians = (latitude * Math.PI) / 180;
  const curvature = 1 - eccentricitySquared * Math.sin(radians) ** 2;
  const metersPerRadianNorth = (semiMajorAxisM * (1 - eccentricitySquared)) / curvature ** 1.5;
  const metersPerRadianEast = (semiMajorAxisM / Math.sqrt(curvature)) * Math.cos(radians);
  const toDegrees = 180 / Math.PI;
  return [
    longitude + (eastM(x, y) / metersPerRadianEast) * toDegrees,
    latitude + (northM(x, y) / metersPerRadianNorth) * toDegrees,
  ];
}

const toLongitude = (x: number): number => x * 360 - 180;
const toLatitude = (y: number): number => (Math.atan(Math.sinh(Math.PI * (1 - 2 * y))) * 180) / Math.PI;

/**
 * Returns how far east and south the middle of a tile lies in GCJ-02 coordinates, in widths of a tile. The distance
 * changes by less than a pixel within a tile. It is 0 outside the rectangle around China in which the conversion is
 * defined.
 */
export function findGcj02Shift({ z, x, y }: TilePlace): readonly [number, number] {
  const count = 2 ** z;
  const [middleX, middleY] = [(x + 0.5) / count, (y + 0.5) / count];
  const [longitude, latitude] = toGcj02([toLongitude(middleX), toLatitude(middleY)]);
  return [(toMercatorX(longitude) - middleX) * count, (toMercatorY(latitude) - middleY) * count];
}
