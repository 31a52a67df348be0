import { dayMs, minuteMs } from '@fleet/service-kit';
import { toLocalTime } from '../../platform/local-time.ts';
import type { Preferences } from '../preferences/schema.ts';
import type { DataUsageResponse, UsageRecord } from './schema.ts';

/** The data that a vehicle may use each month, and what happens to new streams afterwards. */
export interface DataBudget {
  readonly bytes: number;
  readonly overBudget: Preferences['video']['over_budget'];
}

/** Mobile networks count in powers of ten. */
const bytesPerMegabyte = 1_000_000;

/** Percentages of a budget that raise a notification. */
export const noticePercents = [80, 100] as const;

/** Returns the budget of a vehicle from the preferences of its owning user; null without one. */
export function findBudget(video: Preferences['video'], vehicleId: number): DataBudget | null {
  const { data_budget_mb: megabytes, over_budget: overBudget } =
    video.vehicle_data_budgets.find(({ vehicle_id: id }) => id === vehicleId) ?? video;
  return megabytes === null ? null : { bytes: megabytes * bytesPerMegabyte, overBudget };
}

/** Returns the month of a time in a time zone, as `YYYY-MM`. */
export const toMonth = (timezone: string, atMs: number): string =>
  new Date(toLocalTime(timezone, atMs).day * dayMs).toISOString().slice(0, 7);

/** Returns the seconds until the next month begins in a time zone, rounded up to a minute. */
export function getSecondsToNextMonth(timezone: string, atMs: number): number {
  const { day, minuteOfDay } = toLocalTime(timezone, atMs);
  const today = new Date(day * dayMs);
  const nextMonthMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 1);
  return (nextMonthMs - day * dayMs - minuteOfDay * minuteMs) / 1_000;
}

const countBytes = ({ fromBytes, toBytes }: Pick<UsageRecord, 'fromBytes' | 'toBytes'>): number => toBytes - fromBytes;

/** Returns all bytes of some records. */
export const sumBytes = (records: readonly UsageRecord[]): number =>
  records.reduce((sum, record) => sum + countBytes(record), 0);

/** Returns the part of the response that counts bytes. */
export function summarizeUsage(
  records: readonly UsageRecord[],
): Pick<DataUsageResponse, 'bytes' | 'picture_bytes' | 'upload_bytes' | 'channels'> {
  const ofKind = (kind: string): number => sumBytes(records.filter((record) => record.kind === kind));
  const channels = new Map<string, DataUsageResponse['channels'][number]>();
  for (const record of records) {
    const { kind, channelId } = record;
    if (kind === 'picture' || kind === 'upload') continue;
    const key = `${channelId}:${kind}`;
    channels.set(key, {
      channel_id: channelId,
      kind,
      bytes: (channels.get(key)?.bytes ?? 0) + countBytes(record),
    });
  }
  const listed = [...channels.values()].toSorted((a, b) => a.channel_id - b.channel_id || a.kind.localeCompare(b.kind));
  return {
    bytes: listed.reduce((sum, { bytes }) => sum + bytes, 0),
    picture_bytes: ofKind('picture'),
    upload_bytes: ofKind('upload'),
    channels: listed,
  };
}
