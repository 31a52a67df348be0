import { type AdditionalItem, additionalItemDefinitions, createAdditionalItem } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import {
  context,
  foldOutcomes,
  reportOf,
  run,
  type Sketch,
  startMs,
  summarize,
} from '../../testing/alarm-rule-harness.ts';
import { terminalAlarms } from './terminal-alarms.ts';

const tag = { terminalId: '0000001', time: null, seq: 0, attachmentCount: 0, reserved: Buffer.alloc(1) };
const place = {
  speedKmh: 40,
  altitudeM: 10,
  latitudeDeg: 22.6,
  longitudeDeg: 114.1,
  time: '2026-01-31T10:00:00',
  vehicleStatus: 0,
};
const fix = 1 << 10;

const adas = (values: Record<string, unknown> = {}): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.adasAlarm, {
    alarmId: 1,
    flag: 0,
    type: 1,
    level: 1,
    frontSpeedKmh: 35,
    frontDistance100ms: 12,
    deviationType: 0,
    signType: 0,
    signData: 0,
    ...place,
    time: null,
    tag,
    ...values,
  });
const dsm = (values: Record<string, unknown> = {}): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.dsmAlarm, {
    alarmId: 1,
    flag: 0,
    type: 1,
    level: 1,
    fatigueLevel: 3,
    reserved: Buffer.alloc(4),
    ...place,
    time: null,
    tag,
    ...values,
  });
const bsd = (values: Record<string, unknown> = {}): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.bsdAlarm, {
    alarmId: 1,
    flag: 0,
    type: 1,
    ...place,
    time: null,
    tag,
    ...values,
  });
const wheel = (position: number, type: number) => ({
  position,
  type,
  pressureKpa: 180,
  temperatureC: 40,
  batteryPercent: 90,
});
const tpms = (values: Record<string, unknown> = {}): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.tpmsAlarm, {
    alarmId: 1,
    flag: 0,
    ...place,
    time: null,
    tag,
    wheels: [wheel(0, 4)],
    ...values,
  });
const driving = (type: number, flag = 0, alarmId = 1): AdditionalItem =>
  createAdditionalItem(additionalItemDefinitions.intenseDriving, { alarmId, flag, type, detail: Buffer.alloc(41, 7) });

const runAt = (...sketches: readonly (readonly [number, ...AdditionalItem[]])[]) =>
  run(
    terminalAlarms,
    sketches.map(([at, ...extras]): Sketch => ({ at, extras })),
  );

describe('codes of T/JSATL 12', () => {
  it.each([
    [1, 'adas_forward_collision'],
    [2, 'adas_lane_departure'],
    [3, 'adas_headway'],
    [4, 'adas_pedestrian'],
    [5, 'adas_frequent_lane_change'],
    [6, 'adas_road_sign'],
    [7, 'adas_obstacle'],
    [16, 'adas_sign_recognised'],
    [17, 'adas_snapshot'],
    [18, 'adas_solid_line'],
    [19, 'adas_aisle_pedestrian'],
  ])('0x64 code %i is %s', (type, name) => {
    expect(summarize(runAt([0, adas({ type })]))).toEqual([`0 ${name} 1`]);
  });

  it.each([
    [1, 'dsm_fatigue'],
    [2, 'dsm_phone'],
    [3, 'dsm_smoking'],
    [4, 'dsm_distraction'],
    [5, 'dsm_driver_abnormal'],
    [6, 'dsm_camera_covered'],
    [8, 'dsm_overtime'],
    [10, 'dsm_seatbelt'],
    [11, 'dsm_sunglasses'],
    [12, 'dsm_hands_off'],
    [13, 'dsm_phone_play'],
    [16, 'dsm_snapshot'],
    [17, 'dsm_driver_change'],
  ])('0x65 code %i is %s', (type, name) => {
    expect(summarize(runAt([0, dsm({ type })]))).toEqual([`0 ${name} 1`]);
  });

  it.each([
    [1, 'bsd_rear'],
    [2, 'bsd_left_rear'],
    [3, 'bsd_right_rear'],
  ])('0x67 code %i is %s', (type, name) => {
    expect(summarize(runAt([0, bsd({ type })]))).toEqual([`0 ${name} 1`]);
  });

  it.each([
    [1, 'harsh_acceleration'],
    [2, 'harsh_braking'],
    [3, 'harsh_cornering'],
    [4, 'abnormal_driving'],
    [200, 'abnormal_driving'],
  ])('0x70 code %i is %s, with its bytes', (type, name) => {
    const outcomes = runAt([0, driving(type)]);
    expect(summarize(outcomes)).toEqual([`0 ${name} 1`]);
    expect(outcomes[0]?.findings[0]?.attributes).toEqual({ alarm_id: 1, code: type, raw: '07'.repeat(41) });
  });

  it.each([
    ['adas', adas({ type: 99 }), '0x64'],
    ['dsm', dsm({ type: 99 }), '0x65'],
    ['bsd', bsd({ type: 99 }), '0x67'],
  ])('maps an unlisted code of %s to unknown, with its bytes', (family, extra, item) => {
    const outcomes = runAt([0, extra]);
    expect(summarize(outcomes)).toEqual([`0 unknown_alarm ${family}:99:1`]);
    expect(outcomes[0]?.findings[0]?.attributes).toMatchObject({ item, code: 99, raw: extra.bytes.toString('hex') });
  });
});

describe('details of an alarm', () => {
  it('driver assistance: level, vehicle ahead, lane side and sign', () => {
    const [outcome] = runAt([0, adas({ deviationType: 2, signType: 1, signData: 60 })]);
    expect(outcome?.findings[0]?.attributes).toEqual({
      alarm_id: 1,
      level: 1,
      front_speed: 35,
      distance: 12,
      lane_side: 'right',
      sign_type: 'speed',
      sign_value: 60,
    });
    const [bare] = runAt([0, adas()]);
    expect(bare?.findings[0]?.attributes).toMatchObject({ lane_side: null, sign_type: null });
  });

  it('driver state: level and fatigue', () => {
    const [outcome] = runAt([0, dsm()]);
    expect(outcome?.findings[0]?.attributes).toEqual({ alarm_id: 1, level: 1, fatigue: 3 });
  });

  it.each([
    ['adas', adas],
    ['dsm', dsm],
  ])('%s of level two is critical', (_family, make) => {
    expect(runAt([0, make({ level: 2 })])[0]?.findings[0]?.severity).toBe('critical');
    expect(runAt([0, make({ level: 1 })])[0]?.findings[0]).not.toHaveProperty('severity');
  });

  it('include the number of files on the terminal', () => {
    const [outcome] = runAt([0, bsd({ tag: { ...tag, attachmentCount: 3 } })]);
    expect(outcome?.findings[0]?.attributes).toEqual({ alarm_id: 1, attachment_count: 3 });
  });
});

describe('time and position', () => {
  const raisedOf = (values: Record<string, unknown>, sketch: Partial<Sketch> = {}) =>
    run(terminalAlarms, [{ at: 5, extras: [adas(values)], ...sketch }])[0]?.findings[0];

  it("are the item's own if it has them", () => {
    expect(raisedOf({ time: '2026-01-31T10:00:03', vehicleStatus: fix })).toMatchObject({
      atMs: startMs + 3000,
      latitude: 22.6,
      longitude: 114.1,
      gpsValid: true,
    });
  });

  it("have the report's hemisphere", () => {
    expect(raisedOf({ vehicleStatus: fix }, { statusWord: 0b1111 })).toMatchObject({
      latitude: -22.6,
      longitude: -114.1,
    });
  });

  it.each([
    ['no time', null],
    ['an invalid time', { bcd: '269931100000' }],
    ['a time of another zone', '2026-01-31T02:00:00'],
  ])("are the report's with %s", (_case, time) => {
    expect(raisedOf({ time })).toMatchObject({ atMs: startMs + 5000, latitude: 22.5, longitude: 114 });
  });
});

describe('start, end and single events', () => {
  it('start and end make one notification', () => {
    const outcomes = runAt([0, dsm({ flag: 1 })], [10], [300, dsm({ flag: 2 })]);
    expect(summarize(outcomes)).toEqual(['0 dsm_fatigue 1']);
    expect(outcomes[2]?.updates).toEqual([
      { dedupeKey: `138000000001:dsm_fatigue:1:${startMs}`, attributes: { ended_at: '2026-01-31T02:05:00.000Z' } },
    ]);
    expect(outcomes.map(({ mustPersist }) => mustPersist)).toEqual([true, false, true]);
  });

  it.each([
    ['adas', adas],
    ['dsm', dsm],
    ['bsd', bsd],
  ])('an alarm of %s whose start was lost is created by its end', (_family, make) => {
    const outcomes = runAt([0, make({ flag: 2 })]);
    expect(outcomes[0]?.findings[0]?.attributes).toMatchObject({ ended_at: '2026-01-31T02:00:00.000Z' });
  });

  it('a repeated end ends once', () => {
    const outcomes = runAt([0, adas({ flag: 1 })], [100, adas({ flag: 2 })], [110, adas({ flag: 2 })]);
    expect(summarize(outcomes)).toEqual(['0 adas_forward_collision 1']);
    expect(outcomes[2]?.updates).toEqual([]);
  });

  it('a repeated start of an active alarm is ignored', () => {
    const outcomes = runAt(
      [0, adas({ flag: 1 })],
      [40, adas({ flag: 1 })],
      [80, adas({ flag: 1 })],
      [90, adas({ flag: 2 })],
    );
    expect(summarize(outcomes)).toEqual(['0 adas_forward_collision 1']);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toMatchObject({
      ended_at: '2026-01-31T02:01:30.000Z',
    });
  });

  it('a start after an end, or after a long silence, is another alarm', () => {
    expect(summarize(runAt([0, adas({ flag: 1 })], [40, adas({ flag: 2 })], [50, adas({ flag: 1 })]))).toEqual([
      '0 adas_forward_collision 1',
      '50 adas_forward_collision 1',
    ]);
    expect(summarize(runAt([0, adas({ flag: 1 })], [61, adas({ flag: 1 })]))).toHaveLength(2);
  });

  it('events with other ids are separate; equal ones within 30 seconds are counted', () => {
    const outcomes = runAt([0, bsd()], [10, bsd({ alarmId: 2 })], [30, bsd()], [31, bsd()]);
    expect(summarize(outcomes)).toEqual(['0 bsd_rear 1', '10 bsd_rear 2', '31 bsd_rear 1']);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toMatchObject({ count: 2 });
  });

  it('equal alarms of one report are counted; other subjects of the type are not', () => {
    const overload = createAdditionalItem(additionalItemDefinitions.videoAlarm, { videoAlarm: 1 << 5 });
    const outcomes = runAt([0, overload, driving(9), driving(9)]);
    expect(summarize(outcomes)).toEqual(['0 abnormal_driving', '0 abnormal_driving 1']);
    expect([...foldOutcomes(outcomes).values()][1]?.['attributes']).toMatchObject({ count: 2 });
  });

  it('a late end ends the alarm that started in time', () => {
    const outcomes = run(terminalAlarms, [
      { at: 0, extras: [dsm({ flag: 1 })] },
      { at: 500 },
      { at: 100, extras: [dsm({ flag: 2 })], isLate: true },
    ]);
    expect(summarize(outcomes)).toEqual(['0 dsm_fatigue 1']);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toMatchObject({
      ended_at: '2026-01-31T02:01:40.000Z',
    });
  });

  it('a start in late reports is backfilled', () => {
    const outcomes = run(terminalAlarms, [
      { at: 1000 },
      { at: 0, extras: [dsm({ flag: 1 })], isLate: true },
      { at: 60, extras: [dsm({ flag: 2 })], isLate: true },
    ]);
    expect(outcomes[1]?.findings[0]?.backfilled).toBe(true);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toMatchObject({
      ended_at: '2026-01-31T02:01:00.000Z',
    });
  });
});

describe('tyres (item 0x66)', () => {
  it.each([
    [1, ['high']],
    [2, ['low']],
    [3, ['hot']],
    [4, ['sensor']],
    [5, ['imbalance']],
    [6, ['leak']],
    [7, ['battery']],
  ])('bit %i is %j', (bit, reasons) => {
    const outcomes = runAt([0, tpms({ wheels: [wheel(2, (1 << bit) | 1)] })]);
    expect(summarize(outcomes)).toEqual(['0 tyre_pressure tyre:2']);
    expect(outcomes[0]?.findings[0]?.attributes).toEqual({
      alarm_id: 1,
      tyres: [{ position: 2, pressure_kpa: 180, temperature_c: 40, battery_percent: 90, reasons }],
    });
  });

  it('each is a separate alarm; a periodic report is none', () => {
    const outcomes = runAt([0, tpms({ wheels: [wheel(0, 2), wheel(1, 1), wheel(3, 0b1000010)] })]);
    expect(summarize(outcomes)).toEqual(['0 tyre_pressure tyre:0', '0 tyre_pressure tyre:3']);
  });

  it('an unlisted reason is unknown, with its bytes', () => {
    expect(summarize(runAt([0, tpms({ wheels: [wheel(0, 1 << 9)] })]))).toEqual(['0 unknown_alarm tpms:0:9']);
  });

  it('the newest reading of a tyre within 30 seconds updates the first one', () => {
    const outcomes = runAt([0, tpms()], [10, tpms({ wheels: [wheel(0, 0b1000100)] })]);
    expect(summarize(outcomes)).toEqual(['0 tyre_pressure tyre:0']);
    expect([...foldOutcomes(outcomes).values()][0]?.['attributes']).toMatchObject({
      count: 2,
      tyres: [{ reasons: ['low', 'leak'] }],
    });
  });

  it('a normal tyre ends its alarm, and has no effect without one', () => {
    const well = tpms({ flag: 2, wheels: [wheel(0, 0), wheel(1, 0)] });
    const outcomes = runAt([0, tpms({ flag: 1 })], [60, well]);
    expect(summarize(outcomes)).toEqual(['0 tyre_pressure tyre:0']);
    expect(outcomes[1]?.updates).toHaveLength(1);
  });

  it('an item without tyres is kept unless it only ends', () => {
    expect(summarize(runAt([0, tpms({ wheels: [] })]))).toEqual(['0 tyre_pressure']);
    expect(summarize(runAt([0, tpms({ wheels: [], flag: 2 })]))).toEqual([]);
  });
});

it.each([0x64, 0x65, 0x66, 0x67, 0x70, 0x14, 0x15, 0x16, 0x17, 0x18, 0x11, 0x12, 0x13])(
  'an item 0x%s of another length is non-standard, and no alarm',
  (id) => {
    for (const length of [0, 1, 8]) {
      expect(summarize(runAt([0, { id, bytes: Buffer.alloc(length, 0xff) }]))).toEqual([]);
    }
  },
);

describe('files of an alarm on the terminal', () => {
  /** The Guangdong layout, with bytes that no field represents. */
  const tagOf = (attachmentCount: number, seq = 0) => ({
    ...tag,
    raw: Buffer.from(
      `${'07'.repeat(30)}260131100000${[seq, attachmentCount, 0xab, 0xcd].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`,
      'hex',
    ),
  });
  const hexOf = (attachmentCount: number, seq = 0): string => tagOf(attachmentCount, seq).raw.toString('hex');
  const attachedBy = (...sketches: readonly (readonly [number, ...AdditionalItem[]])[]) =>
    runAt(...sketches).map(({ attachmentRequests = [] }) =>
      attachmentRequests.map(({ dedupeKey, tagHex, count }) => [
        dedupeKey.split(':').slice(1).join(':'),
        tagHex,
        count,
      ]),
    );

  it.each([
    ['adas', adas, 'adas_forward_collision:1'],
    ['dsm', dsm, 'dsm_fatigue:1'],
    ['bsd', bsd, 'bsd_rear:1'],
    ['tpms', tpms, 'tyre_pressure:tyre:0'],
    ['an unknown code', (values: object) => adas({ ...values, type: 99 }), 'unknown_alarm:adas:99:1'],
  ])('%s: the tag is forwarded byte by byte', (_case, item, named) => {
    expect(attachedBy([0, item({ tag: tagOf(3) })])).toEqual([[[`${named}:${startMs}`, hexOf(3), 3]]]);
  });

  it('are not requested if their number is 0', () => {
    expect(attachedBy([0, adas()])).toEqual([[]]);
  });

  it('are requested for the notification into which an alarm is folded', () => {
    const named = `adas_forward_collision:1:${startMs}`;
    const start = adas({ flag: 1, tag: tagOf(1) });
    const end = adas({ flag: 2, tag: tagOf(3) });
    expect(attachedBy([0, start], [5, start], [40, end], [41, end])).toEqual([
      [[named, hexOf(1), 1]],
      [[named, hexOf(1), 1]],
      [[named, hexOf(3), 3]],
      [[named, hexOf(3), 3]],
    ]);
    expect(attachedBy([0, adas({ tag: tagOf(1, 1) })], [5, adas({ tag: tagOf(1, 2) })])).toEqual([
      [[named, hexOf(1, 1), 1]],
      [[named, hexOf(1, 2), 1]],
    ]);
  });

  it('of one item are requested once, although several tyres have their own notifications', () => {
    const item = tpms({ wheels: [wheel(0, 4), wheel(1, 4)], tag: tagOf(2) });
    expect(attachedBy([0, item])).toEqual([[[`tyre_pressure:tyre:0:${startMs}`, hexOf(2), 2]]]);
  });

  it('are not requested by an end of tyres without a start', () => {
    expect(attachedBy([0, tpms({ flag: 2, wheels: [wheel(0, 0)], tag: tagOf(2) })])).toEqual([[]]);
  });

  it.each([
    ['23 hours', 23, 1],
    ['25 hours', 25, 0],
  ])('an alarm that arrives %s late', (_case, hours, wanted) => {
    const report = reportOf({ at: 0, extras: [adas({ tag: tagOf(1) })], isLate: true, backfilled: true });
    const position = { ...report.position, serverTimestamp: startMs + hours * 3_600_000 };
    const { findings, attachmentRequests = [] } = terminalAlarms.step(undefined, { ...report, position }, context);
    expect([findings.length, attachmentRequests.length]).toEqual([1, wanted]);
  });
});
