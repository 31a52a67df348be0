import type { Position } from '../geometry/positions.ts';

/** A JSON object of unknown content. */
export type JsonObject = Readonly<Record<string, unknown>>;

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the objects of a list. Other items are left out; a value that is not a list counts as empty. */
export const objectsOf = (value: unknown): JsonObject[] => (Array.isArray(value) ? value.filter(isObject) : []);

export const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null);

export const numberOf = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;

/** Parses a number that may be written as text, as in Nominatim. */
export const looseNumberOf = (value: unknown): number | null =>
  numberOf(typeof value === 'string' && value.trim() !== '' ? Number(value) : value);

/** Parses a position; returns null if it is out of range. */
export function positionOf(latitude: number | null, longitude: number | null): Position | null {
  if (latitude === null || longitude === null) return null;
  return Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [latitude, longitude] : null;
}
