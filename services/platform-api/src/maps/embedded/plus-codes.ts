import openLocationCode from 'open-location-code';
import { normalizeLongitude, type Position } from '../../geometry/positions.ts';

/** The package's methods belong to an instance, in spite of its types. */
interface Codes {
  encode(latitude: number, longitude: number): string;
  isFull(code: string): boolean;
  decode(code: string): { readonly latitudeCenter: number; readonly longitudeCenter: number };
}
const codes = new openLocationCode.OpenLocationCode() as unknown as Codes;

/** Returns the Plus Code of a position, an area of some 14 metres. */
export const plusCodeOf = ([latitude, longitude]: Position): string => codes.encode(latitude, longitude);

/** Returns the centre of a full Plus Code's area, or null if the text is not one. */
export function positionOfPlusCode(text: string): Position | null {
  const code = text.trim().toUpperCase();
  if (!codes.isFull(code)) return null;
  const { latitudeCenter, longitudeCenter } = codes.decode(code);
  return [latitudeCenter, normalizeLongitude(longitudeCenter)];
}
