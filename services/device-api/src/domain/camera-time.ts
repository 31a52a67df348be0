import { AppError } from '@fleet/service-kit';

/** A camera's clock as its distance from UTC: `+08:00`. */
export type UtcOffset = string;

/** What counts where no record says otherwise: GMT+8 is the zone of JT/T 808. */
export const standardOffset: UtcOffset = '+08:00';

// The capital letters and the offset of RFC 3339 section 5.6; a space in the place of T, which its note permits, is not taken.
const dateTime = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;
/** What is left of `+08:00` when the plus was sent as it is: in a query it means a space. */
const lostPlus = /^[^ ]{19,} \d\d:\d\d$/;

/** The sentence's end that says what is wrong with a time, or undefined where nothing is. */
export function faultOfTime(text: string): string | undefined {
  if (instantOf(text) !== undefined) return undefined;
  if (lostPlus.test(text)) return 'has a space in its offset: the + must be sent as %2B in the query string';
  return 'must be an RFC 3339 date-time with an offset, such as 2026-08-01T10:00:00%2B08:00';
}

/**
 * The instant of an RFC 3339 date-time in milliseconds, fractions of a second dropped; undefined for anything else. A leap second (23:59:60 UTC at the end
 * of a month) is the second before it: neither cameras' clocks nor ours have a sixtieth.
 */
export function instantOf(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  // Not Date.UTC: that takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have rolls over into the next one.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetMs = (match[7] === '-' ? -1 : 1) * (Number(match[8] ?? 0) * 60 + Number(match[9] ?? 0)) * 60_000;
  const instantMs = date.getTime() + (hour * 3600 + minute * 60 + Math.min(second, 59)) * 1000 - offsetMs;
  return second === 60 && !isLeapSecond(instantMs) ? undefined : instantMs;
}

/** Leap seconds are put in after the last second of a month in UTC. */
const isLeapSecond = (secondBeforeMs: number): boolean => {
  const next = new Date(secondBeforeMs + 1000);
  return next.getUTCDate() === 1 && next.getTime() % 86_400_000 === 0;
};

/** An instant on a camera's clock, as the 12 digits YYMMDDhhmmss of the protocol; 400 outside 2000 to 2099 there. `what` names the parameter. */
export function cameraDigits(instantMs: number, offset: UtcOffset, what: string): string {
  const shown = new Date(instantMs + offsetMsOf(offset));
  const year = shown.getUTCFullYear();
  if (!(year >= 2000 && year <= 2099))
    throw new AppError(
      'validation_failed',
      `The ${what} must be in the years 2000 to 2099 on the camera's clock (UTC${offset}).`,
    );
  return shown.toISOString().slice(2, 19).replaceAll(/\D/g, '');
}

/** The span of a recording on a camera's clock. */
export interface CameraSpan {
  readonly startMs: number;
  readonly endMs: number;
  /** YYMMDDhhmmss */
  readonly startTime: string;
  /** YYMMDDhhmmss */
  readonly endTime: string;
}

/** The two times of a request on the camera's clock; 400 where they are out of its range, or not one after the other. */
export function cameraSpan(startMs: number, endMs: number, offset: UtcOffset): CameraSpan {
  const startTime = cameraDigits(startMs, offset, 'parameter start_time');
  const endTime = cameraDigits(endMs, offset, 'parameter end_time');
  if (startMs >= endMs) throw new AppError('validation_failed', 'The parameter start_time must be before end_time.');
  return { startMs, endMs, startTime, endTime };
}

/** An instant as RFC 3339 in a camera's offset, whole seconds. */
export const shownTime = (instantMs: number, offset: UtcOffset): string =>
  new Date(instantMs + offsetMsOf(offset)).toISOString().slice(0, 19) + offset;

/** A time on a camera's clock (`YYYY-MM-DDThh:mm:ss`, as the codec reads it) as RFC 3339. */
export const shownCameraTime = (time: string, offset: UtcOffset): string => time + offset;

function offsetMsOf(offset: UtcOffset): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return (offset.startsWith('-') ? -minutes : minutes) * 60_000;
}
