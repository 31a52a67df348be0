import { describe, expect, it } from '@jest/globals';
import { summarize, toSpan } from './rules.ts';

const nothing = { trips: [], events: [], media: [], recordings: [] };
const counts = { distance_km: 0, driving_seconds: 0, media: 0, recordings: 0 };
const noEvents = { critical: 0, warning: 0, info: 0 };

describe('the summary of a month', () => {
  it('has the days on which something happened, in the time zone of the vehicle', () => {
    const days = summarize('2026-02', 'Asia/Shanghai', {
      trips: [
        { startedAtMs: Date.parse('2026-02-02T16:00:00Z'), distanceM: 1_200.4, drivingMs: 90_000 },
        { startedAtMs: Date.parse('2026-02-03T15:59:59Z'), distanceM: 800, drivingMs: 30_400 },
      ],
      events: [
        { timestamp: Date.parse('2026-01-31T16:00:00Z'), severity: 'critical' },
        { timestamp: Date.parse('2026-01-31T17:00:00Z'), severity: 'info' },
      ],
      media: [Date.parse('2026-02-28T15:59:59Z')],
      recordings: [Date.parse('2026-02-03T01:00:00Z'), Date.parse('2026-02-03T02:00:00Z')],
    });
    expect(days).toEqual([
      { ...counts, date: '2026-02-01', events: { critical: 1, warning: 0, info: 1 } },
      { date: '2026-02-03', distance_km: 2, driving_seconds: 120, events: noEvents, media: 0, recordings: 2 },
      { ...counts, date: '2026-02-28', events: noEvents, media: 1 },
    ]);
  });

  it('omits what happened in the months before and after', () => {
    const media = ['2026-01-31T15:59:59Z', '2026-02-28T16:00:00Z'].map((time) => Date.parse(time));
    expect(summarize('2026-02', 'Asia/Shanghai', { ...nothing, media })).toEqual([]);
    expect(summarize('2026-03', 'Asia/Shanghai', { ...nothing, media }).map(({ date }) => date)).toEqual([
      '2026-03-01',
    ]);
  });

  it.each([
    ['America/New_York', '2026-03', ['2026-03-08T06:59:59Z', '2026-03-08T07:00:00Z'], ['2026-03-08']],
    ['Pacific/Kiritimati', '2026-01', ['2025-12-31T10:00:00Z'], ['2026-01-01']],
    ['Pacific/Pago_Pago', '2026-01', ['2026-02-01T10:59:59Z'], ['2026-01-31']],
  ])('reads enough for every zone: %s', (timezone, month, times, dates) => {
    const media = times.map((time) => Date.parse(time));
    const { fromMs, toMs } = toSpan(month);
    for (const time of media) expect(time >= fromMs && time < toMs).toBe(true);
    expect(summarize(month, timezone, { ...nothing, media }).map(({ date }) => date)).toEqual(dates);
  });
});
