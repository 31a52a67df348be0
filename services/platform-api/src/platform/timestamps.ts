import { AppError } from '@fleet/service-kit';
import { Type } from 'typebox';

/** A time in a query: RFC 3339 or milliseconds since 1970 (docs/reference/conventions.md). */
export const timeParameter = Type.String({
  maxLength: 40,
  description: 'RFC 3339, or milliseconds since 1970.',
  examples: ['2026-01-31T08:15:30Z'],
});

const rfc3339 = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** Parses a time of a query. Throws 400 `bad_date` if it is invalid. */
export function parseTimestamp(input: string | undefined, name: string): Date | undefined {
  if (input === undefined) return undefined;
  // An unescaped + in a query is decoded as a space.
  const text = input.replace(/ (?=\d{2}:\d{2}$)/, '+');
  const timestamp = /^\d{1,15}$/.test(text) ? new Date(Number(text)) : new Date(rfc3339.test(text) ? text : Number.NaN);
  if (!Number.isNaN(timestamp.getTime()) && isExistingDate(text)) return timestamp;
  throw new AppError('bad_date', `The parameter ${name} must be a time: RFC 3339, or milliseconds since 1970.`, {
    details: [{ path: `/${name}`, message: 'must be a time' }],
  });
}

// JavaScript parses 30 February as 2 March.
function isExistingDate(text: string): boolean {
  const day = /^(\d{4})-(\d{2})-(\d{2})/.exec(text);
  if (day === null) return true;
  const [, year, month, date] = day.map(Number);
  return new Date(Date.UTC(year ?? 0, (month ?? 0) - 1, date)).getUTCDate() === date;
}
