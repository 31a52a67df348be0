import { describe, expect, it } from '@jest/globals';
import type { Geofence } from '../../domains/geofences/schema.ts';
import {
  away,
  circleOf,
  contextOf,
  geofenceOf,
  home,
  insideIds,
  type ReportSketch,
  RuleHarness,
} from '../../testing/rule-harness.ts';
import { type GeofenceState, geofenceRule } from './geofence-rule.ts';

const event = ({ attributes }: { attributes: Readonly<Record<string, unknown>> }): string =>
  String(attributes['event']);

/** A vehicle that was outside the geofences at second -60. */
const outside = (...geofences: readonly Geofence[]): RuleHarness<GeofenceState> =>
  new RuleHarness(geofenceRule, contextOf({ geofences })).report({ at: -60, place: away(2_000) });

/** Fixes at seconds, metres north of the centre. */
const fixes = (...places: readonly (readonly [at: number, northM: number])[]): ReportSketch[] =>
  places.map(([at, northM]) => ({ at, place: away(northM) }));

describe('crossings of geofences', () => {
  it('report the geofence, the event, the position and the time', () => {
    const yard = circleOf(500);
    const runner = outside(yard).report(...fixes([0, 400], [5, 300], [10, 800], [15, 900]));
    const [latitude, longitude] = away(400);
    expect(runner.findings).toEqual([
      {
        type: 'geofence',
        subject: `${yard._id}:enter`,
        atMs: expect.any(Number),
        latitude,
        longitude,
        gpsValid: true,
        attributes: { event: 'enter', geofence_id: yard._id, geofence_name: 'Yard' },
        backfilled: false,
      },
      expect.objectContaining({ subject: `${yard._id}:exit` }),
    ]);
    expect(runner.summaries(event)).toEqual(['0 enter', '10 exit']);
  });

  it('need two consecutive fixes on the new side', () => {
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400], [5, 800], [10, 400], [15, 800]))
        .summaries(),
    ).toEqual([]);
    const runner = outside(circleOf(500)).report(...fixes([0, 0], [1, 0], [5, 800], [10, 0], [15, 800], [20, 0]));
    expect(runner.summaries(event)).toEqual(['0 enter']);
  });

  it('or 20 seconds on the new side, ignoring fixes at the edge', () => {
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400], [19, 505]))
        .summaries(),
    ).toEqual([]);
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400], [19, 505], [20, 495]))
        .summaries(event),
    ).toEqual(['0 enter']);
  });

  it('have a margin of 10 m on both sides of the edge', () => {
    const yard = circleOf(500);
    expect(
      outside(yard)
        .report(...fixes([0, 492], [5, 492], [60, 492]))
        .summaries(),
    ).toEqual([]);
    expect(
      outside(yard)
        .report(...fixes([0, 488], [5, 488]))
        .summaries(event),
    ).toEqual(['0 enter']);
    const inside = outside(yard).report(...fixes([0, 0], [5, 0]));
    expect(inside.report(...fixes([10, 508], [15, 508], [70, 508])).summaries(event)).toEqual(['0 enter']);
    expect(inside.report(...fixes([80, 512], [85, 512])).summaries(event)).toEqual(['0 enter', '80 exit']);
  });

  it('have a smaller margin inside a small area', () => {
    const lane = geofenceOf({ shape: { type: 'corridor', positions: [away(0, -500), away(0, 500)], widthM: 10 } });
    expect(
      outside(lane)
        .report(...fixes([0, 1], [5, 1]))
        .summaries(event),
    ).toEqual(['0 enter']);
    const yard = geofenceOf({
      shape: { type: 'polygon', positions: [away(10, -10), away(10, 10), away(-10, 10), away(-10, -10)] },
    });
    expect(
      outside(yard)
        .report(...fixes([0, 0], [5, 0]))
        .summaries(event),
    ).toEqual(['0 enter']);
  });

  it('report enter and exit if the path between two fixes crosses the area', () => {
    const runner = outside(circleOf(500)).report(...fixes([0, 1_000], [30, -1_000], [60, -2_000]));
    expect(runner.summaries(event)).toEqual(['30 enter', '30 exit']);
    expect(insideIds(runner.state)).toEqual([]);
  });

  it('report nothing if the path passes beside the area, or only touches its edge', () => {
    const past = { at: 0, place: away(1_000, 800) };
    expect(
      outside(circleOf(500))
        .report(past, { at: 30, place: away(-1_000, 800) })
        .summaries(),
    ).toEqual([]);
    const touching = { at: 0, place: away(1_000, 495) };
    expect(
      outside(circleOf(500))
        .report(touching, { at: 30, place: away(-1_000, 495) })
        .summaries(),
    ).toEqual([]);
  });

  it('ignore invalid fixes', () => {
    const invalid = { at: 5, place: away(400), gpsValid: false };
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400]), invalid)
        .summaries(),
    ).toEqual([]);
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400]), { ...invalid, place: away(900) }, ...fixes([9, 400]))
        .summaries(event),
    ).toEqual(['0 enter']);
  });

  it('ignore fixes older than the last one', () => {
    expect(
      outside(circleOf(500))
        .report(...fixes([10, 400], [5, 300], [6, 300]))
        .summaries(),
    ).toEqual([]);
    expect(outside(circleOf(500)).report({ at: -70, place: home }, { at: -65, place: home }).summaries()).toEqual([]);
    expect(
      outside(circleOf(500))
        .report({ at: 0, place: home, isLate: true }, { at: 5, place: home, isLate: true })
        .summaries(),
    ).toEqual([]);
  });

  it('count a repeated fix once', () => {
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400], [0, 400]))
        .summaries(),
    ).toEqual([]);
    expect(
      outside(circleOf(500))
        .report(...fixes([0, 400], [0, 390]))
        .summaries(event),
    ).toEqual(['0 enter']);
  });

  it('set the side silently at the first fix', () => {
    const runner = new RuleHarness(geofenceRule, contextOf({ geofences: [circleOf(500)] }));
    runner.report(...fixes([0, 0], [5, 0], [10, 0]));
    expect(runner.summaries()).toEqual([]);
    expect(runner.outcomes.map(({ mustPersist }) => mustPersist)).toEqual([true, false, false]);
    expect(runner.report(...fixes([20, 900], [25, 900])).summaries(event)).toEqual(['20 exit']);
  });

  it('set the side of a new geofence silently, and continue with the others', () => {
    const [yard, later] = [circleOf(500), circleOf(300)];
    const runner = outside(yard).report(...fixes([0, 200]));
    runner.context = contextOf({ geofences: [yard, later] });
    runner.report(...fixes([5, 200], [10, 200]));
    expect(runner.summaries(event)).toEqual(['0 enter']);
    expect(insideIds(runner.state)).toEqual([yard._id, later._id]);
    expect(runner.report(...fixes([20, 400], [25, 400])).summaries()).toEqual([
      `0 ${yard._id}:enter`,
      `20 ${later._id}:exit`,
    ]);
  });

  it('set the side silently after a change of shape only', () => {
    const yard = circleOf(500);
    const runner = outside(yard).report(...fixes([0, 0], [5, 0]));
    runner.context = contextOf({ geofences: [{ ...yard, name: 'New name', version: 2 }] });
    runner.report(...fixes([10, 900], [15, 900]));
    expect(runner.summaries(event)).toEqual(['0 enter', '10 exit']);
    runner.context = contextOf({ geofences: [{ ...circleOf(1_500), _id: yard._id }] });
    runner.report(...fixes([20, 900], [25, 900]));
    runner.context = contextOf({ geofences: [{ ...yard, version: 4 }] });
    runner.report(...fixes([30, 900], [35, 900]));
    expect(runner.summaries(event)).toEqual(['0 enter', '10 exit']);
  });

  it('drop the state of a deleted geofence', () => {
    const yard = circleOf(500);
    const runner = outside(yard, circleOf(100, {}, away(50_000))).report(...fixes([0, 0], [5, 0]));
    expect(insideIds(runner.state)).toEqual([yard._id]);
    runner.context = contextOf({ geofences: [circleOf(100, {}, away(50_000))] });
    expect(insideIds(runner.report(...fixes([10, 0])).state)).toEqual([]);
    runner.context = contextOf();
    expect(runner.report(...fixes([15, 0])).state).toBeUndefined();
    expect(runner.summaries(event)).toEqual(['0 enter']);
  });

  it('report only events in notify_on, but track all', () => {
    const yard = circleOf(500, { notifyOn: ['exit'] });
    const runner = outside(yard).report(...fixes([0, 0], [5, 0]));
    expect(insideIds(runner.state)).toEqual([yard._id]);
    expect(runner.report(...fixes([10, 900], [15, 900])).summaries(event)).toEqual(['10 exit']);
    expect(
      outside(circleOf(500, { notifyOn: [] }))
        .report(...fixes([0, 0], [5, 0], [10, 900], [15, 900]))
        .summaries(),
    ).toEqual([]);
  });

  it('report dwell once a stay, after dwell_seconds', () => {
    const yard = circleOf(500, { dwellSeconds: 60 });
    const runner = outside(yard).report(...fixes([0, 0], [30, 0], [59, 0]));
    expect(runner.summaries(event)).toEqual(['0 enter']);
    runner.report(...fixes([61, 0], [120, 0], [200, 0]));
    expect(runner.summaries(event)).toEqual(['0 enter', '61 dwell']);
    runner.report(...fixes([300, 900], [310, 900], [400, 0], [410, 0], [470, 0]));
    expect(runner.summaries(event)).toEqual(['0 enter', '61 dwell', '300 exit', '400 enter', '470 dwell']);
  });

  it('report no dwell at a fix outside', () => {
    const runner = outside(circleOf(500, { dwellSeconds: 60 })).report(...fixes([0, 0], [30, 0], [61, 900], [65, 900]));
    expect(runner.summaries(event)).toEqual(['0 enter', '61 exit']);
  });

  it('are marked as backfilled for late points', () => {
    const late = { backfilled: true };
    const runner = outside(circleOf(500)).report(...fixes([0, 0], [5, 0]).map((fix) => ({ ...fix, ...late })));
    expect(runner.findings).toMatchObject([{ backfilled: true }]);
  });

  it('require durable state for events that cannot be found again', () => {
    const runner = outside(circleOf(500)).report(...fixes([0, 0], [5, 0], [10, 0], [20, 900], [25, 900]));
    expect(runner.outcomes.map(({ mustPersist }) => mustPersist)).toEqual([true, false, true, false, false, true]);
  });
});

describe('schedules of geofences', () => {
  // Second 0 is Saturday, 10:00 in Shanghai.
  const schedule = { timezone: 'Asia/Shanghai', days: [6], from: '09:00', to: '11:00' };
  const crossing = (changes: Partial<typeof schedule>, at = 0): string[] =>
    outside(circleOf(500, { schedule: { ...schedule, ...changes } }))
      .report(...fixes([at, 0], [at + 5, 0]))
      .summaries(event);

  it.each([
    ['between its times', {}, 0, true],
    ['on another day', { days: [5, 7] }, 0, false],
    ['in another time zone', { timezone: 'Europe/Berlin' }, 0, false],
    ['before it begins', { from: '10:01' }, 0, false],
    ['from its first minute', { from: '10:00' }, 0, true],
    ['up to its end', { to: '10:00' }, 0, false],
    ['past midnight, in the evening', { from: '22:00', to: '06:00' }, 12 * 3_600, true],
    ['past midnight, in the morning of the next day', { from: '22:00', to: '06:00' }, 19 * 3_600, true],
    ['past midnight, in the morning of its own day', { from: '22:00', to: '12:00' }, 0, false],
    ['past midnight, on Monday after Sunday', { days: [7], from: '22:00', to: '06:00' }, 43 * 3_600, true],
    ['for a whole day', { from: '00:00', to: '24:00' }, 0, true],
    ['for a day from an hour to the same', { days: [5], from: '12:00', to: '12:00' }, 0, true],
  ] as const)('%s', (_name, changes, at, counts) => {
    expect(crossing({ ...changes, days: [...('days' in changes ? changes.days : [6])] }, at)).toEqual(
      counts ? [`${at} enter`] : [],
    );
  });

  it('use summer time', () => {
    const berlin = { timezone: 'Europe/Berlin', days: [1, 2, 3, 4, 5, 6, 7], from: '04:00', to: '05:00' };
    const summer = (Date.parse('2026-07-01T02:00:00Z') - Date.parse('2026-01-31T02:00:00Z')) / 1_000;
    expect(crossing(berlin, summer)).toHaveLength(1);
    expect(crossing(berlin, 0)).toHaveLength(0);
  });

  it('track the side outside their times', () => {
    const yard = circleOf(500, { schedule: { ...schedule, from: '10:01' } });
    const runner = outside(yard).report(...fixes([0, 0], [5, 0]));
    expect(insideIds(runner.state)).toEqual([yard._id]);
    expect(runner.report(...fixes([120, 900], [125, 900])).summaries(event)).toEqual(['120 exit']);
  });

  it('report dwell as soon as they apply', () => {
    const yard = circleOf(500, { dwellSeconds: 60, schedule: { ...schedule, from: '10:05' } });
    expect(
      outside(yard)
        .report(...fixes([0, 0], [5, 0], [200, 0], [310, 0], [320, 0]))
        .summaries(event),
    ).toEqual(['310 dwell']);
  });
});
