import { describe, expect, it } from '@jest/globals';
import { defaultPreferences } from '../preferences/rules.ts';
import { findBudget, getSecondsToNextMonth, summarizeUsage, toMonth } from './rules.ts';
import type { UsageRecord } from './schema.ts';

const endOfNovember = Date.parse('2026-11-30T18:30:00Z');

describe('the month of a time', () => {
  it.each([
    ['UTC', '2026-11'],
    ['Asia/Kolkata', '2026-12'],
    ['America/New_York', '2026-11'],
  ])('is that of the time zone %s', (timezone, month) => {
    expect(toMonth(timezone, endOfNovember)).toBe(month);
  });

  it('ends at midnight of the time zone', () => {
    expect(getSecondsToNextMonth('UTC', endOfNovember)).toBe(5.5 * 3_600);
    expect(getSecondsToNextMonth('Asia/Kolkata', endOfNovember - 60_000)).toBe(60);
  });
});

describe('the data budget of a vehicle', () => {
  const { video } = defaultPreferences({ language: 'en', timezone: 'UTC' });

  it('is absent by default', () => {
    expect(findBudget(video, 1)).toBeNull();
  });

  it('is that of all vehicles, unless the vehicle has its own or none', () => {
    const preferences = {
      ...video,
      data_budget_mb: 5,
      over_budget: 'refuse' as const,
      vehicle_data_budgets: [
        { vehicle_id: 2, data_budget_mb: 7, over_budget: 'sub_stream' as const },
        { vehicle_id: 3, data_budget_mb: null, over_budget: 'refuse' as const },
      ],
    };
    expect(findBudget(preferences, 1)).toEqual({ bytes: 5_000_000, overBudget: 'refuse' });
    expect(findBudget(preferences, 2)).toEqual({ bytes: 7_000_000, overBudget: 'sub_stream' });
    expect(findBudget(preferences, 3)).toBeNull();
  });
});

describe('the summary of a month', () => {
  const record = (kind: UsageRecord['kind'], channelId: number, fromBytes: number, toBytes: number): UsageRecord => ({
    _id: `1:2026-11:${kind}-${channelId}-${fromBytes}`,
    accountId: 1,
    vehicleId: 1,
    month: '2026-11',
    kind,
    channelId,
    fromBytes,
    toBytes,
  });

  it('adds the streams by channel and kind, and counts pictures and uploads apart', () => {
    const records = [
      record('playback', 1, 0, 10),
      record('live', 2, 0, 5),
      record('live', 1, 0, 100),
      record('live', 1, 50, 80),
      record('talk', 1, 0, 1),
      record('picture', 1, 0, 1_000),
      record('upload', 1, 0, 7),
    ];
    expect(summarizeUsage(records)).toEqual({
      bytes: 146,
      picture_bytes: 1_000,
      upload_bytes: 7,
      channels: [
        { channel_id: 1, kind: 'live', bytes: 130 },
        { channel_id: 1, kind: 'playback', bytes: 10 },
        { channel_id: 1, kind: 'talk', bytes: 1 },
        { channel_id: 2, kind: 'live', bytes: 5 },
      ],
    });
  });
});
