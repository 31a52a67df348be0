const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export interface FormatOptions {
  /** BCP 47 tag, such as `en`. */
  readonly language: string;
  /** IANA zone of the user. */
  readonly timeZone: string;
  readonly isTwelveHours: boolean;
}

/**
 * Returns the time of an event relative to now: "3 min" up to one hour, then the clock time, after a day the date too.
 */
export function formatAge(timeMs: number, nowMs: number, options: FormatOptions): string {
  const ageMs = Math.max(0, nowMs - timeMs);
  if (ageMs < minuteMs) return formatUnit(Math.floor(ageMs / 1000), 'second', options.language);
  if (ageMs < hourMs) return formatUnit(Math.floor(ageMs / minuteMs), 'minute', options.language);
  return ageMs < dayMs ? formatClock(timeMs, options) : formatDateTime(timeMs, options);
}

const formatUnit = (value: number, unit: 'second' | 'minute', language: string): string =>
  new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(value);

export const formatClock = (timeMs: number, { language, timeZone, isTwelveHours }: FormatOptions): string =>
  new Intl.DateTimeFormat(language, { timeStyle: 'short', timeZone, hour12: isTwelveHours }).format(timeMs);

/** Returns date and time, such as "22 Jan 2026, 14:02". */
export const formatDateTime = (timeMs: number, { language, timeZone, isTwelveHours }: FormatOptions): string =>
  new Intl.DateTimeFormat(language, {
    dateStyle: 'medium',
    timeStyle: 'short',
    timeZone,
    hour12: isTwelveHours,
  }).format(timeMs);

/** Returns date, time to the second and zone, for titles of relative times. */
export const formatExact = (timeMs: number, { language, timeZone, isTwelveHours }: FormatOptions): string =>
  new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'long', timeZone, hour12: isTwelveHours }).format(
    timeMs,
  );

/** Returns the day in the user's zone, such as 2026-01-22. */
export const formatIsoDate = (timeMs: number, { timeZone }: Pick<FormatOptions, 'timeZone'>): string =>
  new Intl.DateTimeFormat('en-CA', { dateStyle: 'short', timeZone }).format(timeMs);
