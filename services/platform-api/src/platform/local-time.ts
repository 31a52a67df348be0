import { dayMs, minuteMs } from '@fleet/service-kit';

/** Local time in a time zone. */
interface LocalTime {
  /** 1 Monday to 7 Sunday. */
  readonly weekday: number;
  readonly minuteOfDay: number;
  /** Days since 1 January 1970. */
  readonly day: number;
}

/** Offsets of time zones change at whole quarters of an hour. */
const quarterMs = 900_000;
const maxZones = 1_000;

interface Zone {
  readonly format: Intl.DateTimeFormat;
  quarter: number;
  offsetMs: number;
}

/**
 * Caches the offset of the last quarter of an hour for each zone, because Intl takes microseconds and there are
 * millions of reports.
 */
const zones = new Map<string, Zone>();

function getZone(timezone: string): Zone {
  const cached = zones.get(timezone);
  if (cached !== undefined) return cached;
  if (zones.size >= maxZones) zones.clear();
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  const zone = { format, quarter: Number.NaN, offsetMs: 0 };
  zones.set(timezone, zone);
  return zone;
}

function getOffsetMs(timezone: string, atMs: number): number {
  const zone = getZone(timezone);
  const quarter = Math.floor(atMs / quarterMs);
  if (zone.quarter === quarter) return zone.offsetMs;
  const parts = new Map(zone.format.formatToParts(quarter * quarterMs).map(({ type, value }) => [type, Number(value)]));
  const read = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type) ?? 0;
  zone.offsetMs =
    Date.UTC(read('year'), read('month') - 1, read('day'), read('hour'), read('minute')) - quarter * quarterMs;
  zone.quarter = quarter;
  return zone.offsetMs;
}

/** Returns the local time of an IANA time zone, to the minute. */
export function toLocalTime(timezone: string, atMs: number): LocalTime {
  const localMs = atMs + getOffsetMs(timezone, atMs);
  const day = Math.floor(localMs / dayMs);
  // 1 January 1970 was a Thursday.
  return { weekday: ((((day + 3) % 7) + 7) % 7) + 1, minuteOfDay: Math.floor((localMs - day * dayMs) / minuteMs), day };
}

/** Returns true for the name of a time zone that this machine knows. */
export function isTimezone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '' && !/^[+-]/.test(name);
  } catch {
    // That it is refused is the answer.
    return false;
  }
}
