/** Centre and zoom of a map. */
export interface MapPlace {
  readonly latitude: number;
  readonly longitude: number;
  readonly zoom: number;
}

/** Returns latitude and longitude of an address. */
export function parsePosition(text: string): readonly [number, number] | undefined {
  const [latitude, longitude, ...more] = text.split(',').map(Number);
  if (latitude === undefined || longitude === undefined || more.length > 0) return undefined;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [latitude, longitude] : undefined;
}

/** Returns the place of the map in an address. */
export function parsePlace(text: string | undefined): MapPlace | undefined {
  if (text === undefined) return undefined;
  const [latitude, longitude, zoom] = text.split(',').map(Number);
  const position = parsePosition(`${latitude},${longitude}`);
  if (position === undefined || zoom === undefined || !(zoom >= 0 && zoom <= 24)) return undefined;
  return { latitude: position[0], longitude: position[1], zoom };
}

/** Returns a place for the address, to about a metre. */
export const formatPlace = ({ latitude, longitude, zoom }: MapPlace): string =>
  `${latitude.toFixed(5)},${longitude.toFixed(5)},${zoom.toFixed(2)}`;
