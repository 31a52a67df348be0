import { AppError, dayMs, minuteMs } from '@fleet/service-kit';

/** UTC offset of a camera's clock: `+08:00`. */
export type UtcOffset = string;

// Capital letters and the offset of RFC 3339 section 5.6; a space instead of T, which its note permits, is rejected.
const dateTimePattern =
  /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/;
/** Remainder of `+08:00` when the plus was not escaped: in a query it means a space. */
const lostPlusPattern = /^[^ ]{19,} \d\d:\d\d$/;

/** Returns what is wrong with a time, for the end of a sentence, or undefined. */
export function describeTimeError(text: string): string | undefined {
  if (parseTimestamp(text) !== undefined) return undefined;
  if (lostPlusPattern.test(text)) return 'has a space in its offset: the + must be sent as %2B in the query string';
  return 'must be an RFC 3339 date-time with an offset, such as 2026-08-01T10:00:00%2B08:00';
}

/**
 * Returns the timestamp of an RFC 3339 date-time in ms, without fractions of a second; undefined for anything else. A
 * leap second (23:59:60 UTC at the end of a month) is the second before it, because no clock here has a sixtieth.
 */
export function parseTimestamp(text: string): number | undefined {
  const match = dateTimePattern.exec(text);
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
  // Date.UTC would map the years 0 to 99 to 1900 to 1999.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have rolls over into the next month.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offsetMs = (match[7] === '-' ? -1 : 1) * (Number(match[8] ?? 0) * 60 + Number(match[9] ?? 0)) * minuteMs;
  const timestampMs = date.getTime() + (hour * 3600 + minute * 60 + Math.min(second, 59)) * 1000 - offsetMs;
  return second === 60 && !isLeapSecond(timestampMs) ? undefined : timestampMs;
}

// Leap seconds follow the last second of a month in UTC.
const isLeapSecond = (secondBeforeMs: number): boolean => {
  const next = new Date(secondBeforeMs + 1000);
  return next.getUTCDate() === 1 && next.getTime() % dayMs === 0;
};

/**
 * Returns a timestamp on a camera's clock as 12 digits YYMMDDhhmmss; throws 400 outside 2000 to 2099. `what` names the
 * parameter.
 */
export function toCameraDigits(timestampMs: number, offset: UtcOffset, what: string): string {
  const cameraDate = new Date(timestampMs + parseOffsetMs(offset));
  const year = cameraDate.getUTCFullYear();
  if (!(year >= 2000 && year <= 2099))
    throw new AppError(
      'validation_failed',
      `The ${what} must be in the years 2000 to 2099 on the camera's clock (UTC${offset}).`,
    );
  return cameraDate.toISOString().slice(2, 19).replaceAll(/\D/g, '');
}

/** Time span of a recording on a camera's clock. */
export interface CameraSpan {
  readonly startMs: number;
  readonly endMs: number;
  /** YYMMDDhhmmss */
  readonly startTime: string;
  /** YYMMDDhhmmss */
  readonly endTime: string;
}

/** Returns both times of a request on the camera's clock; throws 400 if they are out of range or in the wrong order. */
export function toCameraSpan(startMs: number, endMs: number, offset: UtcOffset): CameraSpan {
  const startTime = toCameraDigits(startMs, offset, 'parameter start_time');
  const endTime = toCameraDigits(endMs, offset, 'parameter end_time');
  if (startMs >= endMs) throw new AppError('validation_failed', 'The parameter start_time must be before end_time.');
  return { startMs, endMs, startTime, endTime };
}

/** Returns a timestamp as RFC 3339 in a camera's offset, in whole seconds. */
export const formatTime = (timestampMs: number, offset: UtcOffset): string =>
  new Date(timestampMs + parseOffsetMs(offset)).toISOString().slice(0, 19) + offset;

/** Returns a time on a camera's clock (`YYYY-MM-DDThh:mm:ss`, from the codec) as RFC 3339. */
export const formatCameraTime = (time: string, offset: UtcOffset): string => time + offset;

function parseOffsetMs(offset: UtcOffset): number {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  return (offset.startsWith('-') ? -minutes : minutes) * minuteMs;
}
