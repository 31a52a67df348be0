import { invalid } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { isTimezone } from './domains/users/rules.ts';
import { clearable } from './fields.ts';

const fields = {
  timezone: Type.String({ minLength: 1, maxLength: 60, description: 'IANA name, such as Asia/Kolkata.' }),
  days: Type.Array(Type.Integer({ minimum: 1, maximum: 7 }), {
    minItems: 1,
    maxItems: 7,
    description: '1 Monday to 7 Sunday: the days on which it begins.',
  }),
  from: Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', examples: ['22:00'] }),
  to: Type.String({
    pattern: '^(([01]\\d|2[0-3]):[0-5]\\d|24:00)$',
    description: 'Before `from`: on the next day.',
    examples: ['06:00'],
  }),
};

/** When a geofence or a route counts (platform-contract.md, section 27). */
export const schedule = Type.Object(fields, { title: 'Schedule' });
export type Schedule = Static<typeof schedule>;

/** The same in a body, where null clears it. */
export const clearableSchedule = Type.Optional(clearable(Type.Object(fields)));

/** A schedule as it is stored: each day once. 400 for a time zone that does not exist. */
export function storedSchedule(given: Schedule | null | undefined): Schedule | null | undefined {
  if (given === null || given === undefined) return given;
  if (!isTimezone(given.timezone))
    throw invalid([{ path: '/schedule/timezone', message: 'must be an IANA time zone, such as Asia/Kolkata' }]);
  return { ...given, days: [...new Set(given.days)].sort((a, b) => a - b) };
}
