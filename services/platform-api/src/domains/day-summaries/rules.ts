import { dayMs } from '@fleet/service-kit';
import { toLocalTime } from '../../platform/local-time.ts';
import type { DaySummary } from './schema.ts';

/** A time span; `toMs` is excluded. */
interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Returns a span that contains a month such as `2026-01` in every time zone. */
export function toSpan(month: string): Span {
  const [year = 0, number = 1] = month.split('-').map(Number);
  return { fromMs: Date.UTC(year, number - 1, 1) - dayMs, toMs: Date.UTC(year, number, 1) + dayMs };
}

/** What happened in a span, with the times in ms. */
interface Activity {
  readonly trips: readonly { readonly startedAtMs: number; readonly distanceM: number; readonly drivingMs: number }[];
  readonly events: readonly { readonly timestamp: number; readonly severity: keyof DaySummary['events'] }[];
  /** Times of files, and starts of recordings. */
  readonly media: readonly number[];
  readonly recordings: readonly number[];
}

interface Sums {
  distanceM: number;
  drivingMs: number;
  readonly events: DaySummary['events'];
  media: number;
  recordings: number;
}

const noSums = (): Sums => ({
  distanceM: 0,
  drivingMs: 0,
  events: { critical: 0, warning: 0, info: 0 },
  media: 0,
  recordings: 0,
});

/** Returns the days of a month on which something happened, oldest first. */
export function summarize(month: string, timezone: string, activity: Activity): DaySummary[] {
  const days = new Map<string, Sums>();
  const sumsAt = (atMs: number): Sums => {
    const date = new Date(toLocalTime(timezone, atMs).day * dayMs).toISOString().slice(0, 10);
    const sums = days.get(date) ?? noSums();
    days.set(date, sums);
    return sums;
  };
  for (const { startedAtMs, distanceM, drivingMs } of activity.trips) {
    const sums = sumsAt(startedAtMs);
    sums.distanceM += distanceM;
    sums.drivingMs += drivingMs;
  }
  for (const { timestamp, severity } of activity.events) sumsAt(timestamp).events[severity] += 1;
  for (const atMs of activity.media) sumsAt(atMs).media += 1;
  for (const atMs of activity.recordings) sumsAt(atMs).recordings += 1;
  return [...days]
    .filter(([date]) => date.startsWith(`${month}-`))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([date, { distanceM, drivingMs, ...counts }]) => ({
      date,
      distance_km: Number((distanceM / 1_000).toFixed(3)),
      driving_seconds: Math.round(drivingMs / 1_000),
      ...counts,
    }));
}
