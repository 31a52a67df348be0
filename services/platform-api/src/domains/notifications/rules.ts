import { AppError, dayMs, type ErrorDetail, validationError } from '@fleet/service-kit';
import { typeDefinitions } from './type-definitions.ts';
import { findTypeDefinition } from './types.ts';

/** Throws 400 for an unknown type. */
export function requireKnownType(type: string, path: string): void {
  if (findTypeDefinition(type) === undefined) throw validationError([unknownType(type, path)]);
}

/** Throws 400 for unknown types; `path` is the path of the list. */
export function requireKnownTypes(types: readonly string[], path: string): void {
  const faults = types
    .map((type, at) => ({ type, at }))
    .filter(({ type }) => findTypeDefinition(type) === undefined)
    .map(({ type, at }) => unknownType(type, `${path}/${at}`));
  if (faults.length > 0) throw validationError(faults);
}

/** Throws 400 if a list filter names an unknown type, because an empty result would look as if nothing had happened. */
export function requireKnownFilter(types: readonly string[]): void {
  const unknown = types.find((type) => findTypeDefinition(type) === undefined);
  if (unknown === undefined) return;
  const message = `must name notification types; ${JSON.stringify(unknown)} is not one`;
  throw new AppError('validation_failed', `The query parameter type ${message}.`, {
    details: [{ path: '/type', message }],
  });
}

const unknownType = (type: string, path: string): ErrorDetail => ({
  path,
  message: `is not a notification type: ${JSON.stringify(type)}`,
});

/** Types that are enabled for a user who has not stored any preferences. */
export const defaultTypes: readonly string[] = typeDefinitions
  .filter((kind) => kind.isOnByDefault)
  .map(({ type }) => type);

/** Calendar day. */
interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** Time range, from its first millisecond to the first one after it. */
interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Parses `D/M/YYYY` or `DD/MM/YYYY`; throws 400 `bad_date` for an invalid day. */
export function readRecordDate(text: string): Day {
  const [, day = 0, month = 0, year = 0] = (/^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text) ?? []).map(Number);
  const real = new Date(Date.UTC(year, month - 1, day));
  if (day >= 1 && month >= 1 && month <= 12 && year >= 1970 && real.getUTCDate() === day) return { year, month, day };
  throw new AppError('bad_date', 'The parameter record_date must be a day as D/M/YYYY, such as 31/1/2026.', {
    details: [{ path: '/record_date', message: 'must be a day as D/M/YYYY' }],
  });
}

/** Returns the day in a time zone at a given time. */
export function dayAt(ms: number, timeZone: string): Day {
  const shifted = new Date(ms + offsetAt(ms, timeZone));
  return { year: shifted.getUTCFullYear(), month: shifted.getUTCMonth() + 1, day: shifted.getUTCDate() };
}

/** Returns the beginning and end of a day in a time zone. A day has 23 or 25 hours when clocks change. */
export function windowOfDay(day: Day, timeZone: string): Window {
  const midnight = Date.UTC(day.year, day.month - 1, day.day);
  return { fromMs: startOfDay(midnight, timeZone), toMs: startOfDay(midnight + dayMs, timeZone) };
}

/**
 * Returns the first millisecond of the day whose midnight would be this one if the zone were UTC. If clocks skip or
 * repeat midnight, the offset before or after the change applies.
 */
function startOfDay(midnightMs: number, timeZone: string): number {
  const offsets = [offsetAt(midnightMs - dayMs, timeZone), offsetAt(midnightMs + dayMs, timeZone)];
  const candidates = offsets.map((offset) => midnightMs - offset).toSorted((a, b) => a - b);
  return candidates.find((ms) => ms + offsetAt(ms, timeZone) >= midnightMs) ?? midnightMs;
}

/** Returns the offset of a time zone from UTC at a given time, in milliseconds. */
function offsetAt(ms: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms);
  const read = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((part) => part.type === type)?.value);
  const response = Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute'), read('second'));
  return response - Math.floor(ms / 1_000) * 1_000;
}
