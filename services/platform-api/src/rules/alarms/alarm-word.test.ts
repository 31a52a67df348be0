import { additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { context, foldOutcomes, reportOf, run, startMs, summarize } from '../../testing/alarm-rule-harness.ts';
import { currentAlarms } from './current-alarms.ts';
import { terminalAlarms } from './terminal-alarms.ts';

/** Alarm bits by type, except bit 1. */
const bitTypes: readonly (readonly [number, string])[] = [
  [0, 'sos'],
  [2, 'fatigue_driving'],
  [3, 'dangerous_driving'],
  [4, 'gnss_fault'],
  [5, 'gnss_antenna_disconnected'],
  [6, 'gnss_antenna_short'],
  [7, 'power_low'],
  [8, 'power_cut'],
  [9, 'display_fault'],
  [10, 'tts_fault'],
  [11, 'camera_fault'],
  [12, 'ic_card_fault'],
  [13, 'overspeed_warning'],
  [14, 'fatigue_warning'],
  [18, 'driving_overtime'],
  [19, 'parking_overtime'],
  [20, 'geofence'],
  [21, 'route'],
  [22, 'route_segment_time'],
  [23, 'route_deviation'],
  [24, 'speed_sensor_fault'],
  [25, 'fuel_abnormal'],
  [26, 'vehicle_theft'],
  [27, 'illegal_ignition'],
  [28, 'illegal_movement'],
  [29, 'collision'],
  [30, 'rollover'],
];
const newBits = [
  [15, 'illegal_driving'],
  [16, 'tyre_pressure'],
  [17, 'right_turn_blind_spot'],
] as const;

const crossing = (locationType: number, areaId: number, direction: number) =>
  createAdditionalItem(additionalItemDefinitions.areaInOut, { locationType, areaId, direction });

describe('the alarm word', () => {
  it.each(
    bitTypes.flatMap(([bit, type]) =>
      (['2011', '2013', '2019'] as const).map((edition) => [edition, bit, type] as const),
    ),
  )('of %s: bit %i is %s', (edition, bit, type) => {
    const [outcome] = run(terminalAlarms, [{ at: 0, bits: [bit], edition }]);
    expect(outcome?.findings).toEqual([
      {
        type,
        subject: '',
        atMs: startMs,
        latitude: 22.5,
        longitude: 114,
        gpsValid: true,
        attributes: { bit },
        backfilled: false,
      },
    ]);
    expect(outcome?.mustPersist).toBe(true);
    expect(currentAlarms(reportOf({ at: 0, bits: [bit], edition }))).toEqual([type]);
  });

  it.each(newBits)('bit %i is %s from 2019 on, and reserved before', (bit, type) => {
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [bit], edition: '2019' }]))).toEqual([`0 ${type}`]);
    for (const edition of ['2011', '2013'] as const) {
      const outcomes = run(terminalAlarms, [{ at: 0, bits: [bit], edition }]);
      expect(summarize(outcomes)).toEqual([`0 unknown_alarm alarm:${bit}`]);
      expect(outcomes[0]?.findings[0]?.attributes).toEqual({ bit });
    }
  });

  it('bit 31 is an opened door before 2019, and reserved since', () => {
    const at = (edition: '2011' | '2013' | '2019') => summarize(run(terminalAlarms, [{ at: 0, bits: [31], edition }]));
    expect(at('2011')).toEqual(['0 illegal_door_open']);
    expect(at('2013')).toEqual(['0 illegal_door_open']);
    expect(at('2019')).toEqual(['0 unknown_alarm alarm:31']);
  });

  it('bit 1 belongs to the overspeed rule, but is among the current alarms', () => {
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [1] }]))).toEqual([]);
    expect(currentAlarms(reportOf({ at: 0, bits: [0, 1] }))).toEqual(['sos', 'overspeed']);
  });

  it('two reserved bits are two alarms', () => {
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [15, 16] }]))).toEqual([
      '0 unknown_alarm alarm:15',
      '0 unknown_alarm alarm:16',
    ]);
    expect(currentAlarms(reportOf({ at: 0, bits: [15, 16] }))).toEqual(['unknown_alarm']);
  });

  it('reports of partners have no alarms and clear none', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, bits: [0] },
      { at: 10, edition: 'partner' },
      { at: 50, bits: [0] },
    ]);
    expect(summarize(outcomes)).toEqual(['0 sos']);
  });
});

describe('items of areas and routes', () => {
  it('report the entered area', () => {
    const outcomes = run(terminalAlarms, [{ at: 0, bits: [20], extras: [crossing(1, 5, 0)] }]);
    expect(summarize(outcomes)).toEqual(['0 geofence terminal:1:5:enter']);
    expect(outcomes[0]?.findings[0]?.attributes).toEqual({
      bit: 20,
      event: 'enter',
      area_id: 5,
      area_type: 'circle',
      direction: 0,
    });
  });

  it('name the geofence from which the area was created', () => {
    const geofence = { _id: 5, name: 'Depot', pushToTerminal: true } as unknown as (typeof context.geofences)[number];
    const outcomes = run(terminalAlarms, [{ at: 0, bits: [20], extras: [crossing(1, 5, 1)] }], {
      ...context,
      geofences: [geofence],
    });
    expect(outcomes[0]?.findings[0]?.attributes).toMatchObject({
      event: 'exit',
      geofence_id: 5,
      geofence_name: 'Depot',
    });
  });

  it('belong to the bit of their kind', () => {
    const extras = [crossing(3, 8, 0), crossing(4, 9, 1)];
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [20, 21], extras }]))).toEqual([
      '0 geofence terminal:3:8:enter',
      '0 route terminal:4:9:exit',
    ]);
  });

  it('belong to the only bit, whatever their kind', () => {
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [21], extras: [crossing(1, 9, 0)] }]))).toEqual([
      '0 route terminal:1:9:enter',
    ]);
    expect(summarize(run(terminalAlarms, [{ at: 0, bits: [23], extras: [crossing(4, 9, 1)] }]))).toEqual([
      '0 route_deviation terminal:4:9:exit',
    ]);
  });

  it('make leaving directly after entering a separate alarm', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, bits: [20], extras: [crossing(1, 5, 0)] },
      { at: 10, bits: [20], extras: [crossing(1, 5, 1)] },
    ]);
    expect(summarize(outcomes)).toEqual(['0 geofence terminal:1:5:enter', '10 geofence terminal:1:5:exit']);
  });

  it('make coming back an alarm only after 60 seconds clear', () => {
    const at = (second: number, direction: number) => ({ at: second, bits: [20], extras: [crossing(1, 5, direction)] });
    const [entered, left] = ['0 geofence terminal:1:5:enter', '20 geofence terminal:1:5:exit'];
    expect(summarize(run(terminalAlarms, [at(0, 0), at(20, 1), at(45, 0)]))).toEqual([entered, left]);
    expect(summarize(run(terminalAlarms, [at(0, 0), at(20, 1), { at: 21 }, at(80, 0)]))).toEqual([
      entered,
      left,
      '80 geofence terminal:1:5:enter',
    ]);
  });

  it('are optional once the alarm is active', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, bits: [20], extras: [crossing(1, 5, 0)] },
      { at: 100, bits: [20] },
    ]);
    expect(summarize(outcomes)).toEqual(['0 geofence terminal:1:5:enter']);
  });

  it.each([
    [0, 'too_short'],
    [1, 'too_long'],
    [7, '7'],
  ])('report whether a part of a route took too little or too much time (%i)', (result, word) => {
    const extras = [
      createAdditionalItem(additionalItemDefinitions.segmentTime, { segmentId: 3, travelTimeS: 90, result }),
    ];
    const outcomes = run(terminalAlarms, [{ at: 0, bits: [22], extras }]);
    expect(summarize(outcomes)).toEqual([`0 route_segment_time terminal:3:${word}`]);
    expect(outcomes[0]?.findings[0]?.attributes).toEqual({
      bit: 22,
      segment_id: 3,
      travel_time_seconds: 90,
      result: word,
    });
  });
});

describe('raising of a bit', () => {
  const ups = (bit: number, ...ats: readonly (readonly [number, boolean])[]) =>
    run(
      terminalAlarms,
      ats.map(([at, isUp]) => ({ at, bits: isUp ? [bit] : [] })),
    );

  it('happens once while it is active', () => {
    expect(summarize(ups(2, [0, true], [40, true], [4000, true], [40_000, true]))).toEqual(['0 fatigue_driving']);
  });

  it('is repeated only after 60 seconds clear', () => {
    expect(summarize(ups(2, [0, true], [100, false], [159, true], [200, false], [259, true]))).toEqual([
      '0 fatigue_driving',
    ]);
    expect(summarize(ups(2, [0, true], [100, false], [160, true]))).toEqual([
      '0 fatigue_driving',
      '160 fatigue_driving',
    ]);
  });

  it('is repeated at the first clear report if it is critical', () => {
    expect(summarize(ups(0, [0, true], [100, false], [101, true]))).toEqual(['0 sos', '101 sos']);
  });

  it('is counted in the first one within 30 seconds', () => {
    const outcomes = ups(0, [0, true], [10, false], [20, true], [25, false], [30, true], [31, false], [32, true]);
    expect(summarize(outcomes)).toEqual(['0 sos', '32 sos']);
    expect([...foldOutcomes(outcomes).values()].map(({ attributes }) => attributes)).toEqual([
      { bit: 0, count: 3 },
      { bit: 0 },
    ]);
  });

  it('has counts that are values, so that a repeated report has no effect', () => {
    const [first] = ups(0, [0, true], [10, false]).slice(-1);
    const again = reportOf({ at: 20, bits: [0] });
    const once = terminalAlarms.step(first?.state, again, context);
    expect(terminalAlarms.step(first?.state, again, context)).toEqual(once);
    expect(once.updates).toEqual([{ dedupeKey: `138000000001:sos::${startMs}`, attributes: { count: 2 } }]);
  });

  it('leaves no state some time after the end', () => {
    const outcomes = ups(2, [0, true], [10, false], [1000, false]);
    expect(outcomes[2]).toEqual({ state: undefined, findings: [], updates: [], mustPersist: false });
  });

  it('requires durable state at rise and end, not in between', () => {
    expect(ups(2, [0, true], [50, true], [60, false], [70, false]).map(({ mustPersist }) => mustPersist)).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });
});

describe('late reports', () => {
  it('raise what rises within them as backfilled, and do not change the present', () => {
    const outcomes = run(terminalAlarms, [
      { at: 1000 },
      { at: 100, isLate: true },
      { at: 110, bits: [2], isLate: true },
      { at: 120, bits: [2], isLate: true },
      { at: 1010, bits: [2] },
    ]);
    expect(summarize(outcomes)).toEqual(['110 fatigue_driving', '1010 fatigue_driving']);
    expect(outcomes.flatMap(({ findings }) => findings.map(({ backfilled }) => backfilled))).toEqual([true, false]);
  });

  it('do not clear an active alarm', () => {
    const outcomes = run(terminalAlarms, [
      { at: 1000, bits: [0] },
      { at: 100, isLate: true },
      { at: 1040, bits: [0] },
    ]);
    expect(summarize(outcomes)).toEqual(['1000 sos']);
  });

  it('raise no alarm that timely reports had at that time', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, bits: [0] },
      { at: 1000, bits: [0] },
      { at: 500, bits: [0], isLate: true },
    ]);
    expect(summarize(outcomes)).toEqual(['0 sos']);
  });

  it('of another outage are another sequence', () => {
    const outcomes = run(terminalAlarms, [
      { at: 10_000 },
      { at: 100, bits: [2], isLate: true },
      { at: 5000, bits: [2], isLate: true },
    ]);
    expect(summarize(outcomes)).toEqual(['100 fatigue_driving', '5000 fatigue_driving']);
  });

  it('count in a present alarm within 30 seconds of it', () => {
    const outcomes = run(terminalAlarms, [
      { at: 1000, bits: [0] },
      { at: 990, bits: [0], isLate: true },
    ]);
    expect(summarize(outcomes)).toEqual(['1000 sos']);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toEqual({ bit: 0, count: 2 });
  });

  it('newer than the last fix but old are processed normally, and marked', () => {
    const outcomes = run(terminalAlarms, [{ at: 0, bits: [0], backfilled: true }]);
    expect(outcomes[0]?.findings[0]?.backfilled).toBe(true);
  });
});
