import { describe, expect, it } from '@jest/globals';
import {
  addDays,
  formatClockTime,
  formatOffset,
  getDateOf,
  getDaySpan,
  getLengthMs,
  getOffsetMs,
  getTicks,
  isDate,
  panSpan,
  parseOffset,
  toTimeMs,
  toX,
  zoomSpan,
} from './time-scale.ts';

const hourMs = 3_600_000;
const hoursOf = (date: string, zone: string): number => getLengthMs(getDaySpan(date, zone)) / hourMs;

describe('the span of a day', () => {
  it.each([
    ['2026-01-22', 'Asia/Kolkata', 24],
    ['2026-03-29', 'Europe/Berlin', 23],
    ['2026-10-25', 'Europe/Berlin', 25],
    ['2026-03-08', 'America/New_York', 23],
    ['2026-11-01', 'America/New_York', 25],
    ['2026-04-05', 'Australia/Lord_Howe', 24.5],
    // The clock skips from midnight to one.
    ['2026-09-06', 'America/Santiago', 23],
  ])('%s in %s has the hours between two midnights', (date, zone, hours) => {
    expect(hoursOf(date, zone)).toBe(hours);
  });

  it('begins at midnight of the zone', () => {
    expect(getDaySpan('2026-01-22', 'Asia/Kolkata').fromMs).toBe(Date.parse('2026-01-21T18:30:00Z'));
    expect(getDaySpan('2026-01-22', 'Pacific/Kiritimati').fromMs).toBe(Date.parse('2026-01-21T10:00:00Z'));
    expect(getDaySpan('2026-01-22', 'Pacific/Pago_Pago').fromMs).toBe(Date.parse('2026-01-22T11:00:00Z'));
  });
});

describe('the marks of the axis', () => {
  const labelsOf = (date: string, zone: string): string[] =>
    getTicks(getDaySpan(date, zone), zone, 30).map(({ label }) => label);

  it('show a repeated hour twice and leave out a skipped one', () => {
    expect(labelsOf('2026-10-25', 'Europe/Berlin').slice(0, 5)).toEqual(['00:00', '01:00', '02:00', '02:00', '03:00']);
    expect(labelsOf('2026-03-29', 'Europe/Berlin').slice(0, 4)).toEqual(['00:00', '01:00', '03:00', '04:00']);
  });

  it('stand at even local times of a zone with half an hour', () => {
    const span = getDaySpan('2026-01-22', 'Asia/Kolkata');
    const ticks = getTicks(span, 'Asia/Kolkata', 12);
    expect(ticks.map(({ label }) => label).slice(0, 3)).toEqual(['00:00', '02:00', '04:00']);
    expect(ticks[1]?.timeMs).toBe(span.fromMs + 2 * hourMs);
  });

  it('have seconds in a short span, and never more than their number', () => {
    const fromMs = Date.parse('2026-01-22T06:12:10Z');
    const ticks = getTicks({ fromMs, toMs: fromMs + 10_000 }, 'UTC', 5);
    expect(ticks.map(({ label }) => label)).toEqual(['06:12:10', '06:12:12', '06:12:14', '06:12:16', '06:12:18']);
  });
});

describe('offsets', () => {
  it('of a zone and of a camera are compared as numbers', () => {
    const timeMs = Date.parse('2026-01-22T06:00:00Z');
    expect(formatOffset(getOffsetMs(timeMs, 'Asia/Kolkata'))).toBe('+5:30');
    expect(parseOffset('+08:00')).not.toBe(getOffsetMs(timeMs, 'Asia/Kolkata'));
    expect(parseOffset('-03:30')).toBe(getOffsetMs(timeMs, 'America/St_Johns'));
    expect(parseOffset('Z')).toBeNull();
  });
});

describe('dates', () => {
  it('depend on the zone', () => {
    const timeMs = Date.parse('2026-01-22T20:00:00Z');
    expect([getDateOf(timeMs, 'UTC'), getDateOf(timeMs, 'Asia/Kolkata')]).toEqual(['2026-01-22', '2026-01-23']);
    expect(formatClockTime(timeMs + 10_500, 'Asia/Kolkata')).toBe('01:30:10');
  });

  it('exist or not', () => {
    expect(['2026-02-28', '2026-02-30', '2026-2-3', 'today'].map(isDate)).toEqual([true, false, false, false]);
    expect(addDays('2026-02-28', 1)).toBe('2026-03-01');
  });
});

describe('the visible span', () => {
  const day = { fromMs: 0, toMs: 24 * hourMs };

  it('keeps the time below the pointer while it zooms, down to ten seconds and up to the day', () => {
    const aroundMs = 6 * hourMs;
    const near = zoomSpan(day, day, aroundMs, 0.5);
    expect(toX(aroundMs, near, 1000)).toBe(250);
    expect(toTimeMs(250, near, 1000)).toBe(aroundMs);
    expect(getLengthMs(zoomSpan(day, day, aroundMs, 1e-9))).toBe(10_000);
    expect(zoomSpan(near, day, aroundMs, 100)).toEqual(day);
  });

  it('stays within the day when it moves', () => {
    const hour = { fromMs: hourMs, toMs: 2 * hourMs };
    expect(panSpan(hour, day, -5 * hourMs)).toEqual({ fromMs: 0, toMs: hourMs });
    expect(panSpan(hour, day, 90 * hourMs)).toEqual({ fromMs: 23 * hourMs, toMs: 24 * hourMs });
  });
});
