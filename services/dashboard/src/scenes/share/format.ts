const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

const isSameDay = (one: Date, other: Date): boolean => one.toDateString() === other.toDateString();

/** Returns the clock time, with the date on another day. Guests have no preferences: the device decides. */
export const formatTime = (timeMs: number, nowMs: number, language: string): string =>
  new Intl.DateTimeFormat(language, {
    timeStyle: 'short',
    ...(isSameDay(new Date(timeMs), new Date(nowMs)) ? {} : { dateStyle: 'medium' as const }),
  }).format(timeMs);

/** Returns how long ago something was, up to one hour, then its time. */
export function formatAgo(timeMs: number, nowMs: number, language: string): string {
  const ageMs = Math.max(0, nowMs - timeMs);
  if (ageMs >= hourMs) return formatTime(timeMs, nowMs, language);
  const format = new Intl.RelativeTimeFormat(language, { style: 'short' });
  if (ageMs < minuteMs) return format.format(-Math.floor(ageMs / 1_000), 'second');
  return format.format(-Math.floor(ageMs / minuteMs), 'minute');
}

/** Returns a value with its unit, such as "52 km/h". */
export const formatUnit = (value: number, unit: string, language: string, maximumFractionDigits = 0): string =>
  new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits }).format(value);
