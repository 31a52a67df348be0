import { AppError, type ErrorDetail, validationError } from '@fleet/service-kit';
import { isOnByDefault, kindOf, notificationKinds } from './types.ts';

/** 400 for a type that does not exist. */
export function requireKnownType(type: string, path: string): void {
  if (kindOf(type) === undefined) throw validationError([unknownType(type, path)]);
}

/** 400 for types that do not exist; the path is that of the list. */
export function requireKnownTypes(types: readonly string[], path: string): void {
  const faults = types
    .map((type, at) => ({ type, at }))
    .filter(({ type }) => kindOf(type) === undefined)
    .map(({ type, at }) => unknownType(type, `${path}/${at}`));
  if (faults.length > 0) throw validationError(faults);
}

/** 400 for a filter of a list that names a type which does not exist: nothing found would look like nothing that happened. */
export function requireKnownFilter(types: readonly string[]): void {
  const unknown = types.find((type) => kindOf(type) === undefined);
  if (unknown === undefined) return;
  const message = `must name notification types; ${JSON.stringify(unknown)} is none`;
  throw new AppError('validation_failed', `The query parameter type ${message}.`, {
    details: [{ path: '/type', message }],
  });
}

const unknownType = (type: string, path: string): ErrorDetail => ({
  path,
  message: `is no notification type: ${JSON.stringify(type)}`,
});

/** What a user is told of who has not said anything. */
export const defaultTypes: readonly string[] = notificationKinds.filter(isOnByDefault).map(({ type }) => type);

/** A day of the calendar. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

/** From the first millisecond to the first one after. */
export interface Window {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Reads `D/M/YYYY` or `DD/MM/YYYY`; 400 `bad_date` for what is no day. */
export function readRecordDate(text: string): Day {
  const [, day = 0, month = 0, year = 0] = (/^(\d{1,2})\/(\d{1,2})\/(\d{4})$/.exec(text) ?? []).map(Number);
  const real = new Date(Date.UTC(year, month - 1, day));
  if (day >= 1 && month >= 1 && month <= 12 && year >= 1970 && real.getUTCDate() === day) return { year, month, day };
  throw new AppError('bad_date', 'The parameter record_date must be a day as D/M/YYYY, such as 31/1/2026.', {
    details: [{ path: '/record_date', message: 'must be a day as D/M/YYYY' }],
  });
}

/** The day that a time zone has at an instant. */
export function dayAt(ms: number, timeZone: string): Day {
  const shifted = new Date(ms + offsetAt(ms, timeZone));
  return { year: shifted.getUTCFullYear(), month: shifted.getUTCMonth() + 1, day: shifted.getUTCDate() };
}

/** When a day begins and ends in a time zone; 23 or 25 hours where clocks change. */
export function windowOfDay(day: Day, timeZone: string): Window {
  const midnight = Date.UTC(day.year, day.month - 1, day.day);
  return { fromMs: startOfDay(midnight, timeZone), toMs: startOfDay(midnight + dayMs, timeZone) };
}

const dayMs = 24 * 3_600_000;

/** The first instant of the day whose midnight would be this one if the zone were UTC. Where clocks skip or repeat midnight, the offset of before or after it fits. */
function startOfDay(midnightMs: number, timeZone: string): number {
  const offsets = [offsetAt(midnightMs - dayMs, timeZone), offsetAt(midnightMs + dayMs, timeZone)];
  const candidates = offsets.map((offset) => midnightMs - offset).toSorted((a, b) => a - b);
  return candidates.find((ms) => ms + offsetAt(ms, timeZone) >= midnightMs) ?? midnightMs;
}

/** How far a zone's clock is ahead of UTC at an instant, in milliseconds. */
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
