/** Latitude at which the square world map ends. */
const maxLatitude = 85.051129;
/** Pixels of the world at zoom 0. */
export const tileSize = 512;

/** Returns the longitude as a part of the width of the world map, 0 to 1. */
export const toMercatorX = (longitude: number): number => (longitude + 180) / 360;

/** Returns the latitude as a part of the height of the world map, 0 at the north. */
export function toMercatorY(latitude: number): number {
  const radians = (Math.max(-maxLatitude, Math.min(maxLatitude, latitude)) * Math.PI) / 180;
  return (1 - Math.log(Math.tan(radians) + 1 / Math.cos(radians)) / Math.PI) / 2;
}

const earthRadiusM = 6_371_008.8;

/** Returns the distance of two positions in metres along a great circle. */
export function distanceM(
  [latitudeA, longitudeA]: readonly [number, number],
  [latitudeB, longitudeB]: readonly [number, number],
): number {
  const [a, b] = [(latitudeA * Math.PI) / 180, (latitudeB * Math.PI) / 180];
  const half = Math.sin((b - a) / 2) ** 2;
  const across = Math.cos(a) * Math.cos(b) * Math.sin(((longitudeB - longitudeA) * Math.PI) / 360) ** 2;
  return 2 * earthRadiusM * Math.asin(Math.min(1, Math.sqrt(half + across)));
}
