import type { components } from '@fleet/api-client';
import type { VehicleState } from '../../common/live/protocol.ts';
import type { TrackMark } from '../../common/map/track-layers.ts';
import type { Segment } from '../../common/timeline/lanes.ts';
import type { TimeSpan } from '../../common/timeline/time-scale.ts';

export type Fix = components['schemas']['Location'];

/** A standstill between two drives. */
export interface Stop extends TimeSpan {
  readonly latitude: number;
  readonly longitude: number;
  readonly address: string | null;
  readonly geofenceIds: readonly number[];
}

/** Without reports for this long a vehicle is offline. */
export const longestGapMs = 600_000;

const toStyle = (state: VehicleState): Segment['style'] =>
  state === 'never_connected' || state === 'offline' ? 'offline' : state;

/** Returns the states of a day: one segment for each stretch of equal reports, hatched ones without reports. */
export function toStateSegments(fixes: readonly Fix[], day: TimeSpan, nowMs: number): Segment[] {
  const segments: Segment[] = [];
  const add = (style: Segment['style'], fromMs: number, toMs: number): void => {
    const last = segments.at(-1);
    if (last?.style === style && last.toMs === fromMs) segments[segments.length - 1] = { ...last, toMs };
    else if (toMs > fromMs) segments.push({ style, fromMs, toMs });
  };
  const endMs = Math.min(day.toMs, Math.max(nowMs, day.fromMs));
  fixes.forEach(({ timestamp, state }, index) => {
    const nextMs = fixes[index + 1]?.timestamp ?? endMs;
    const isGap = nextMs - timestamp > longestGapMs;
    if (index === 0) add('offline', day.fromMs, timestamp);
    add(isGap ? 'offline' : toStyle(state), timestamp, nextMs);
  });
  if (fixes.length === 0) add('offline', day.fromMs, endMs);
  return segments;
}

/** Returns the newest report at or before a time; undefined before the first one. The reports are sorted. */
export function findFix(fixes: readonly Fix[], timeMs: number): Fix | undefined {
  let [low, high] = [0, fixes.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((fixes[middle]?.timestamp ?? 0) <= timeMs) low = middle + 1;
    else high = middle;
  }
  return fixes[low - 1];
}

/** Returns a duration such as `0:24` in hours and minutes. */
export function formatDuration(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

/** Returns the stops of a day; one that has not ended lasts until the end of the day, or until now. */
export const toStops = (records: readonly components['schemas']['Stop'][], endMs: number): Stop[] =>
  records.map(({ from, to, latitude, longitude, address, geofence_ids: geofenceIds }) => ({
    fromMs: Date.parse(from),
    toMs: to === null ? endMs : Date.parse(to),
    latitude,
    longitude,
    address,
    geofenceIds,
  }));

/** Returns the marks of stops, such as "P 0:24". */
export const toStopMarks = (stops: readonly Stop[]): TrackMark[] =>
  stops.map(({ fromMs, toMs, latitude, longitude }) => ({
    id: `stop-${fromMs}`,
    kind: 'stop',
    timeMs: fromMs,
    label: `P ${formatDuration(toMs - fromMs)}`,
    latitude,
    longitude,
  }));
