import { validationError } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nullableField } from './fields.ts';
import { isTimezone, toLocalTime } from './local-time.ts';

const fields = {
  timezone: Type.String({ minLength: 1, maxLength: 60, description: 'IANA name, such as Asia/Kolkata.' }),
  days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    minItems: 1,
    maxItems: 7,
    description: '1 Monday to 7 Sunday: the days on which it begins.',
  }),
  from: Type.String({
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    errorMessage: 'must be a time of day from 00:00 to 23:59',
    examples: ['22:00'],
  }),
  to: Type.String({
    pattern: '^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$',
    errorMessage: 'must be a time of day from 00:00 to 24:00',
    description: 'Before `from`: on the next day.',
    examples: ['06:00'],
  }),
};

/** When a geofence or a route counts (services/platform-api/openapi.json). */
export const schedule = Type.Object(fields, { title: 'Schedule' });
export type Schedule = Static<typeof schedule>;

/** The same in a body, where null clears it. */
export const nullableSchedule = Type.Optional(nullableField(Type.Object(fields)));

/** A schedule as it is stored: each day once. 400 for a time zone that does not exist. */
export function validateSchedule(input: Schedule | null | undefined): Schedule | null | undefined {
  if (input === null || input === undefined) return input;
  if (!isTimezone(input.timezone))
    throw validationError([{ path: '/schedule/timezone', message: 'must be an IANA time zone, such as Asia/Kolkata' }]);
  return { ...input, days: [...new Set(input.days)].sort((a, b) => a - b) };
}

const toMinutes = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

/** Whether a schedule counts at an instant; null always does. From its first minute up to its last, by the clocks of its time zone; one that ends where it begins lasts a day. */
export function isOnSchedule(schedule: Schedule | null, atMs: number): boolean {
  if (schedule === null) return true;
  const { weekday, minuteOfDay } = toLocalTime(schedule.timezone, atMs);
  const [from, to] = [toMinutes(schedule.from), toMinutes(schedule.to)];
  const hasBegun = minuteOfDay >= from && schedule.days.includes(weekday);
  if (from < to) return hasBegun && minuteOfDay < to;
  const dayBefore = weekday === 1 ? 7 : weekday - 1;
  return hasBegun || (minuteOfDay < to && schedule.days.includes(dayBefore));
}
