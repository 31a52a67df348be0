import type { Position } from '../geometry/positions.ts';

/** A JSON object of which nothing is known yet. */
export type Loose = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is Loose =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The objects of a list; what else is in it is left out, and no list is an empty one. */
export const objectsOf = (value: unknown): Loose[] => (Array.isArray(value) ? value.filter(isObject) : []);

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** A number that may be written as text, as Nominatim does. */
export const looseNumberOf = (value: unknown): number | null =>
  numberOf(typeof value === 'string' && value.trim() !== '' ? Number(value) : value);

/** A position on earth, or null. */
export function positionOf(latitude: number | null, longitude: number | null): Position | null {
  if (latitude === null || longitude === null) return null;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [latitude, longitude] : null;
}
