import { formatClockTime } from '../timeline/time-scale.ts';

/** Hours in which only critical events are announced, such as from 22:00 to 06:00. */
export interface QuietHours {
  readonly from: string;
  readonly to: string;
}

/** Returns whether a time is within the quiet hours of a time zone. */
export function isQuiet(timeMs: number, hours: QuietHours | null, timeZone: string): boolean {
  if (hours === null) return false;
  const { from, to } = hours;
  const clock = formatClockTime(timeMs, timeZone).slice(0, from.length);
  return from <= to ? clock >= from && clock < to : clock >= from || clock < to;
}
