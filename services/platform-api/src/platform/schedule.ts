import { validationError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField } from './fields.ts';
import { isTimezone, toLocalTime } from './local-time.ts';

const fields = {
  timezone: Type.String({ minLength: 1, maxLength: 60, description: 'IANA name, such as Asia/Kolkata.' }),
  days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    minItems: 1,
    maxItems: 7,
    description: '1 Monday to 7 Sunday: the days on which the schedule begins.',
  }),
  from: Type.String({
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    errorMessage: 'must be a time of day from 00:00 to 23:59',
    examples: ['22:00'],
  }),
  to: Type.String({
    pattern: '^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$',
    errorMessage: 'must be a time of day from 00:00 to 24:00',
    description: 'A time before `from` is on the next day.',
    examples: ['06:00'],
  }),
};

/** Times at which a geofence or a route is active (services/platform-api/openapi.json). */
export const schedule = Type.Object(fields, { title: 'Schedule' });
export type Schedule = Static<typeof schedule>;

/** A schedule in a body; null clears it. */
export const nullableSchedule = Type.Optional(nullableField(Type.Object(fields)));

/** Validates a schedule for storage and removes duplicate days. Throws 400 for an unknown time zone. */
export function validateSchedule(input: Schedule | null | undefined): Schedule | null | undefined {
  if (input === null || input === undefined) return input;
  if (!isTimezone(input.timezone))
    throw validationError([{ path: '/schedule/timezone', message: 'must be an IANA time zone, such as Asia/Kolkata' }]);
  return { ...input, days: [...new Set(input.days)].sort((a, b) => a - b) };
}

const toMinutes = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/**
 * Returns true if a schedule is active at a time; null always is. A schedule lasts from its first minute up to its
 * last, in its time zone. One that ends where it begins lasts a day.
 */
export function isOnSchedule(schedule: Schedule | null, atMs: number): boolean {
  if (schedule === null) return true;
  const { weekday, minuteOfDay } = toLocalTime(schedule.timezone, atMs);
  const [from, to] = [toMinutes(schedule.from), toMinutes(schedule.to)];
  const hasBegun = minuteOfDay >= from && schedule.days.includes(weekday);
  if (from < to) return hasBegun && minuteOfDay < to;
  const dayBefore = weekday === 1 ? 7 : weekday - 1;
  return hasBegun || (minuteOfDay < to && schedule.days.includes(dayBefore));
}
