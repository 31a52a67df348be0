import { describe, expect, it } from '@jest/globals';
import {
  away,
  circleOf,
  contextOf,
  home,
  imei,
  type ReportSketch,
  RuleHarness,
  routeOf,
  startMs,
} from '../../testing/rule-harness.ts';
import { dedupeKeyOf } from '../rule.ts';
import { type OverspeedState, overspeedRule } from './overspeed-rule.ts';

const bit = 1 << 1;

const runner = (context: Parameters<typeof contextOf>[0] = { vehicle: { speedLimitKmh: 80 } }) =>
  new RuleHarness<OverspeedState>(overspeedRule, contextOf(context));

/** Reports at seconds, with speeds. */
const speeds = (...reports: readonly (readonly [at: number, speed: number, alarmWord?: number])[]): ReportSketch[] =>
  reports.map(([at, speed, alarmWord = 0]) => ({ at, speed, alarmWord }));

describe('overspeed measured by the platform', () => {
  it('requires 10 seconds above the limit', () => {
    expect(
      runner()
        .report(...speeds([0, 81], [9, 81], [10, 80], [11, 81], [20, 90]))
        .summaries(),
    ).toEqual([]);
    expect(runner().report(...speeds([0, 81], [9, 85], [10, 99.5])).findings).toEqual([
      {
        type: 'overspeed',
        subject: '',
        atMs: startMs + 10_000,
        latitude: home[0],
        longitude: home[1],
        gpsValid: true,
        attributes: { speed: 99.5, limit: 80, limit_source: 'vehicle' },
        backfilled: false,
      },
    ]);
  });

  it('is not found at the limit, nor without one', () => {
    expect(
      runner()
        .report(...speeds([0, 80], [30, 80]))
        .summaries(),
    ).toEqual([]);
    const free = runner({}).report(...speeds([0, 180], [30, 180]));
    expect([free.summaries(), free.state]).toEqual([[], undefined]);
  });

  it('is one notification for one range above the limit, and another for the next', () => {
    const driven = runner().report(...speeds([0, 90], [10, 90], [60, 90], [600, 90], [700, 70], [710, 90], [720, 90]));
    expect(driven.summaries()).toEqual(['10 ', '720 ']);
  });

  it('ignores long silences and reports without a fix', () => {
    expect(
      runner()
        .report(...speeds([0, 90], [700, 90]))
        .summaries(),
    ).toEqual([]);
    const tunnel: ReportSketch = { at: 5, speed: 0, gpsValid: false };
    expect(
      runner()
        .report(...speeds([0, 90]), tunnel, ...speeds([12, 90]))
        .summaries(),
    ).toEqual(['12 ']);
    expect(
      runner()
        .report({ ...tunnel, at: 0, speed: 90 }, { ...tunnel, at: 20, speed: 90 })
        .summaries(),
    ).toEqual([]);
  });

  it('uses the lowest limit of geofence, route and vehicle', () => {
    const route = routeOf([away(-5_000), away(5_000)], { speedLimitKmh: 50 });
    const [town, yard, far] = [
      circleOf(2_000, { speedLimitKmh: 60 }),
      circleOf(100, { speedLimitKmh: 20 }),
      circleOf(100, { speedLimitKmh: 10 }, away(20_000)),
    ];
    const vehicle = { speedLimitKmh: 80 };
    const limitAt = (place: readonly [number, number], geofences = [town, yard, far], routes = [route]): unknown => {
      const driven = runner({ vehicle, geofences, routes });
      driven.report({ at: 0, place, speed: 100 }, { at: 10, place, speed: 100 });
      const { limit, limit_source: source } = driven.findings[0]?.attributes ?? {};
      return [source, limit];
    };
    expect(limitAt(home)).toEqual(['geofence', 20]);
    expect(limitAt(away(500))).toEqual(['route', 50]);
    expect(limitAt(away(0, 500))).toEqual(['geofence', 60]);
    expect(limitAt(away(0, 5_000))).toEqual(['vehicle', 80]);
    expect(limitAt(away(500), [yard], [{ ...route, active: false }])).toEqual(['vehicle', 80]);
    // Saturday, 10:00 in Shanghai.
    const schedule = { timezone: 'Asia/Shanghai', days: [1], from: '00:00', to: '24:00' };
    expect(limitAt(home, [{ ...yard, schedule }], [{ ...route, schedule }])).toEqual(['vehicle', 80]);
  });

  it('uses the setting', () => {
    const driven = runner({ vehicle: { speedLimitKmh: 80 }, settings: { overspeedMs: 30_000 } });
    expect(driven.report(...speeds([0, 90], [29, 90], [30, 90])).summaries()).toEqual(['30 ']);
  });
});

describe('overspeed reported by the terminal (alarm bit 1)', () => {
  const terminal = () => runner({});

  it('is found at its rising edge', () => {
    const driven = terminal().report(...speeds([0, 50], [10, 70, bit], [20, 70, bit], [30, 70, bit]));
    expect(driven.findings).toMatchObject([
      { atMs: startMs + 10_000, attributes: { speed: 70, limit: null, limit_source: 'terminal' } },
    ]);
  });

  it('is found again only after 60 seconds clear', () => {
    const up = (at: number) => [at, 70, bit] as const;
    const clear = (at: number) => [at, 50, 0] as const;
    expect(
      terminal()
        .report(...speeds(up(0), clear(40), clear(90), up(99)))
        .summaries(),
    ).toEqual(['0 ']);
    expect(
      terminal()
        .report(...speeds(up(0), clear(40), clear(90), up(100), up(110)))
        .summaries(),
    ).toEqual(['0 ', '100 ']);
  });

  it('is counted in the first one within 30 seconds', () => {
    const driven = terminal().report(
      ...speeds([0, 70, bit], [5, 70], [10, 70, bit], [12, 70], [30, 70, bit], [31, 70], [33, 70, bit]),
    );
    const dedupeKey = dedupeKeyOf(imei, { type: 'overspeed', subject: '', atMs: startMs });
    expect(driven.summaries()).toEqual(['0 ']);
    expect(driven.outcomes.flatMap(({ updates }) => updates)).toEqual([
      { dedupeKey, attributes: { count: 2 } },
      { dedupeKey, attributes: { count: 3 } },
    ]);
  });

  it('continues over a silence', () => {
    expect(
      terminal()
        .report(...speeds([0, 70, bit], [4_000, 70, bit]))
        .summaries(),
    ).toEqual(['0 ']);
  });

  it('is found in late reports, too, without a change of the present', () => {
    const late = { isLate: true, backfilled: true };
    const driven = runner().report(...speeds([1_000, 50]));
    driven.report(
      { at: 0, alarmWord: bit, speed: 95, ...late },
      { at: 10, alarmWord: bit, speed: 95, ...late },
      { at: 20, speed: 95, ...late },
      { at: 40, speed: 95, ...late },
    );
    expect(driven.findings).toMatchObject([
      { atMs: startMs, backfilled: true, attributes: { limit_source: 'terminal' } },
    ]);
    expect(driven.report(...speeds([1_010, 90], [1_020, 90])).summaries()).toEqual(['0 ', '1020 ']);
  });

  it('is not found in a late report of a time in which it was known to be active', () => {
    const driven = terminal().report(...speeds([0, 70, bit], [60, 70, bit]));
    expect(driven.report({ at: 30, alarmWord: bit, isLate: true }).summaries()).toEqual(['0 ']);
  });
});

describe('overspeed of both', () => {
  it.each([
    ['the terminal first', speeds([0, 90, bit], [10, 90, bit], [30, 90, bit]), ['0 '], 'vehicle'],
    ['the platform first', speeds([0, 90], [10, 90], [50, 90, bit], [60, 90, bit]), ['10 '], 'vehicle'],
    ['the bit clear in between', speeds([0, 90, bit], [5, 90], [70, 90], [80, 90, bit]), ['0 '], 'vehicle'],
    ['the platform measuring on while the bit is clear', speeds([0, 70, bit], [5, 90], [20, 90]), ['0 '], 'terminal'],
  ] as const)('is one notification for one range: %s', (_name, reports, expected, source) => {
    const driven = runner().report(...reports);
    expect(driven.summaries()).toEqual(expected);
    expect(driven.findings[0]?.attributes['limit_source']).toBe(source);
  });

  it('is another notification for another range', () => {
    const driven = runner().report(...speeds([0, 90, bit], [20, 60], [40, 90, bit], [50, 90, bit]));
    expect(driven.summaries()).toEqual(['0 ', '50 ']);
  });

  it('drops ended ranges', () => {
    const driven = runner().report(...speeds([0, 90, bit], [20, 60], [700, 60]));
    expect(driven.state).toBeUndefined();
  });
});
