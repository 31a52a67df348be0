import { describe, expect, it } from '@jest/globals';
import { contextOf, imei, type ReportSketch, RuleHarness, startMs } from '../../testing/rule-harness.ts';
import { dedupeKeyOf, type Finding, type Rule } from '../rule.ts';
import { fuelRule } from './fuel.ts';
import { idlingRule } from './idling.ts';
import { ignitionRule } from './ignition.ts';
import { motionRules } from './index.ts';
import { lowBatteryRule } from './low-battery.ts';
import { maintenanceDueRule } from './maintenance-due.ts';
import { nightDrivingRule } from './night-driving.ts';
import { towingRule } from './towing.ts';

type Judged = Parameters<typeof contextOf>[0];

const types = ({ type }: Finding): string => type;

/** Findings of a rule: second and type. */
function findings<S>(rule: Rule<S>, sketches: readonly ReportSketch[], judged: Judged = {}): string[] {
  return new RuleHarness(rule, contextOf(judged)).report(...sketches).summaries(types);
}

describe('rules about the use of a vehicle', () => {
  it('ignore late reports', () => {
    expect(motionRules.map(({ takesLate }) => takesLate)).toEqual(motionRules.map(() => false));
    expect(new Set(motionRules.map(({ name }) => name)).size).toBe(motionRules.length);
  });

  it('report the position and the time', () => {
    const runner = new RuleHarness(ignitionRule, contextOf()).report(
      { at: 0, ignition: true },
      { at: 5, ignition: false, backfilled: true, gpsValid: false },
    );
    expect(runner.findings).toEqual([
      {
        type: 'ignition_off',
        subject: '',
        atMs: startMs + 5_000,
        latitude: 22.5,
        longitude: 114,
        gpsValid: false,
        attributes: {},
        backfilled: true,
      },
    ]);
  });
});

describe('ignition', () => {
  const ignition = (...states: readonly (boolean | null)[]): string[] =>
    findings(
      ignitionRule,
      states.map((each, at) => ({ at, ignition: each })),
    );

  it('is reported at each change', () => {
    expect(ignition(false, true, true, false, false, true)).toEqual([
      '1 ignition_on',
      '3 ignition_off',
      '5 ignition_on',
    ]);
  });

  it('is not reported at the first report, nor by reports without it', () => {
    expect(ignition(true, null, true, null)).toEqual([]);
    expect(ignition(null, true, null, false)).toEqual(['3 ignition_off']);
  });
});

describe('idling', () => {
  const stand = (at: number, rest: Partial<ReportSketch> = {}): ReportSketch => ({
    at,
    speed: 0,
    ignition: true,
    ...rest,
  });

  it('is 5 minutes of standing with the ignition on, once per stop', () => {
    const runner = new RuleHarness(idlingRule, contextOf()).report(stand(0), stand(150), stand(299));
    expect(runner.summaries(types)).toEqual([]);
    runner.report(stand(300), stand(600), stand(2_000));
    expect(runner.summaries(types)).toEqual(['300 idling']);
    expect(runner.findings[0]?.attributes).toEqual({ since: '2026-01-31T02:00:00.000Z', seconds: 300 });
    runner.report(stand(2_100, { speed: 30 }), stand(2_200), stand(2_500));
    expect(runner.summaries(types)).toEqual(['300 idling', '2500 idling']);
  });

  it.each([
    ['movement', stand(100, { speed: 5 })],
    ['the ignition going off', stand(100, { ignition: false })],
    ['an unknown ignition', stand(100, { ignition: null })],
  ])('is ended by %s', (_name, between) => {
    expect(findings(idlingRule, [stand(0), between, stand(110), stand(400)])).toEqual([]);
  });

  it('includes creeping below the speed of movement', () => {
    expect(findings(idlingRule, [stand(0), stand(100, { speed: 4.9 }), stand(300)])).toEqual(['300 idling']);
  });

  it('excludes long silences and reports without a fix', () => {
    expect(findings(idlingRule, [stand(0), stand(700)])).toEqual([]);
    const hidden = { gpsValid: false };
    expect(findings(idlingRule, [stand(0, hidden), stand(200, hidden), stand(400, hidden)])).toEqual([]);
    expect(findings(idlingRule, [stand(0), stand(200, { ...hidden, speed: 50 }), stand(300)])).toEqual(['300 idling']);
  });

  it('uses the settings', () => {
    expect(findings(idlingRule, [stand(0), stand(60)], { settings: { idlingMs: 60_000 } })).toEqual(['60 idling']);
    expect(findings(idlingRule, [stand(0), stand(700)], { settings: { offlineAfterMs: 900_000 } })).toEqual([
      '700 idling',
    ]);
    const creeping = [stand(0), stand(300, { speed: 9 })];
    expect(findings(idlingRule, creeping, { settings: { movingFromKmh: 10 } })).toEqual(['300 idling']);
  });
});

describe('towing', () => {
  const off = (at: number, speed: number, rest: Partial<ReportSketch> = {}): ReportSketch => ({
    at,
    speed,
    ignition: false,
    ...rest,
  });

  it('is movement with the ignition off', () => {
    const runner = new RuleHarness(towingRule, contextOf()).report(off(0, 0), off(10, 4.9), off(20, 5), off(30, 40));
    expect(runner.summaries(types)).toEqual(['20 towing']);
    expect(runner.findings[0]?.attributes).toEqual({ speed: 5 });
  });

  it('excludes a vehicle that rolls while its ignition is turned off, and one without a fix', () => {
    expect(findings(towingRule, [{ at: 0, ignition: true, speed: 30 }, off(5, 20), off(10, 0)])).toEqual([]);
    expect(findings(towingRule, [off(0, 0), off(5, 20, { gpsValid: false })])).toEqual([]);
    expect(findings(towingRule, [off(0, 0), { at: 5, speed: 20, ignition: null }])).toEqual([]);
  });

  it('is reported once until the ignition was on or the vehicle stood', () => {
    expect(
      findings(towingRule, [off(0, 0), off(5, 20), off(10, 0), off(60, 0), off(65, 20), off(70, 0), off(100, 20)]),
    ).toEqual(['5 towing']);
    expect(findings(towingRule, [off(0, 0), off(5, 20), off(10, 0), off(70, 0), off(80, 20)])).toEqual([
      '5 towing',
      '80 towing',
    ]);
    expect(findings(towingRule, [off(0, 0), off(5, 20), { at: 10, ignition: true }, off(15, 0), off(20, 20)])).toEqual([
      '5 towing',
      '20 towing',
    ]);
  });
});

describe('fuel', () => {
  const levels = (...steps: readonly (readonly [at: number, fuelL: number | null])[]): ReportSketch[] =>
    steps.map(([at, fuelL]) => ({ at, fuelL }));
  const truck: Judged = { vehicle: { tankCapacityL: 400 } };

  it('drops or is filled by a tenth of the tank within 5 minutes', () => {
    expect(findings(fuelRule, levels([0, 200], [60, 161], [120, 160.1]), truck)).toEqual([]);
    expect(findings(fuelRule, levels([0, 200], [60, 180], [300, 160]), truck)).toEqual(['300 fuel_drop']);
    expect(findings(fuelRule, levels([0, 200], [60, 220], [299, 240]), truck)).toEqual(['299 fuel_fill']);
  });

  it('or by 8 l if the size of the tank is unknown', () => {
    expect(findings(fuelRule, levels([0, 50], [60, 42.1]))).toEqual([]);
    const runner = new RuleHarness(fuelRule, contextOf()).report(...levels([0, 50], [60, 42]));
    expect(runner.findings).toMatchObject([{ type: 'fuel_drop', attributes: { from_l: 50, to_l: 42, change_l: -8 } }]);
  });

  it('excludes normal consumption', () => {
    expect(findings(fuelRule, levels([0, 50], [200, 46], [301, 42], [501, 38], [702, 34]))).toEqual([]);
    expect(findings(fuelRule, levels([0, 50], [301, 30]))).toEqual([]);
  });

  it('is measured from the constant level, standing or moving', () => {
    expect(findings(fuelRule, levels([0, 50], [600, 50], [1_000, 50], [1_200, 41]))).toEqual(['1200 fuel_drop']);
    expect(
      findings(
        fuelRule,
        levels([0, 50], [10, 40]).map((each) => ({ ...each, speed: 0, ignition: false })),
      ),
    ).toEqual(['10 fuel_drop']);
    expect(findings(fuelRule, levels([0, 50], [5, null], [10, 40]))).toEqual(['10 fuel_drop']);
  });

  it('of one change is one notification, whose litres grow', () => {
    const runner = new RuleHarness(fuelRule, contextOf()).report(
      ...levels([0, 20], [60, 30], [90, 45], [120, 60], [150, 59.5], [500, 59]),
    );
    expect(runner.summaries(types)).toEqual(['60 fuel_fill']);
    const dedupeKey = dedupeKeyOf(imei, { type: 'fuel_fill', subject: '', atMs: startMs + 60_000 });
    expect(runner.outcomes.flatMap(({ updates }) => updates)).toEqual([
      { dedupeKey, attributes: { from_l: 20, to_l: 45, change_l: 25 } },
      { dedupeKey, attributes: { from_l: 20, to_l: 60, change_l: 40 } },
    ]);
  });

  it('in the other direction is another change', () => {
    const turned = levels([0, 20], [60, 30], [90, 40], [120, 35], [150, 31], [200, 20], [900, 20], [960, 10]);
    expect(findings(fuelRule, turned)).toEqual(['60 fuel_fill', '150 fuel_drop', '960 fuel_drop']);
  });

  it('uses the settings', () => {
    const settings = { fuelChange: 0.5, fuelChangeL: 2, fuelWindowMs: 60_000 };
    expect(findings(fuelRule, levels([0, 200], [30, 1]), { ...truck, settings })).toEqual([]);
    expect(findings(fuelRule, levels([0, 50], [61, 47], [70, 45]), { settings })).toEqual(['70 fuel_drop']);
  });

  it('stores no more levels than it needs', () => {
    const runner = new RuleHarness(fuelRule, contextOf());
    for (let at = 0; at < 500; at += 1) runner.report(...levels([at, 100 - at / 1_000]));
    expect(runner.state?.highs.length).toBeLessThanOrEqual(100);
    expect(runner.state?.lows).toHaveLength(1);
  });
});

describe('low battery', () => {
  const charges = (...percents: readonly (number | null)[]): ReportSketch[] =>
    percents.map((batteryPercent, at) => ({ at, batteryPercent }));

  it('is reported at 20 %, once until it is charged above', () => {
    expect(findings(lowBatteryRule, charges(30, 21, 20, 15, 20, null, 12, 21, 19))).toEqual([
      '2 low_battery',
      '8 low_battery',
    ]);
    expect(findings(lowBatteryRule, charges(10, 9))).toEqual(['0 low_battery']);
  });

  it('uses the setting', () => {
    expect(findings(lowBatteryRule, charges(40, 35), { settings: { lowBatteryPercent: 35 } })).toEqual([
      '1 low_battery',
    ]);
  });
});

describe('night driving', () => {
  /** Seconds from 10:00 in Shanghai to a time of that day, or a later one. */
  const at = (hour: number, minute = 0): number => (hour - 10) * 3_600 + minute * 60;
  const drive = (seconds: number, rest: Partial<ReportSketch> = {}): ReportSketch => ({
    at: seconds,
    speed: 5,
    ...rest,
  });

  it('is movement between 23:00 and 05:00 in the time zone of the vehicle', () => {
    expect(findings(nightDrivingRule, [drive(at(22, 59)), drive(at(23))])).toEqual([`${at(23)} night_driving`]);
    expect(findings(nightDrivingRule, [drive(at(28, 59))])).toHaveLength(1);
    expect(findings(nightDrivingRule, [drive(at(29))])).toEqual([]);
    expect(findings(nightDrivingRule, [drive(at(23), { speed: 4.9 }), drive(at(24), { gpsValid: false })])).toEqual([]);
    expect(findings(nightDrivingRule, [drive(at(23))], { vehicle: { timezone: 'Europe/Berlin' } })).toEqual([]);
  });

  it('is reported once a night', () => {
    const nights = [at(23), at(24, 30), at(28), at(47), at(49)].map((each) => drive(each));
    expect(findings(nightDrivingRule, nights)).toEqual([`${at(23)} night_driving`, `${at(47)} night_driving`]);
  });

  it('is never found if the night ends in the hour of its beginning', () => {
    const settings = { nightFromHour: 0, nightToHour: 0 };
    const reports = Array.from({ length: 24 }, (_, hour) => drive(at(10 + hour)));
    expect(findings(nightDrivingRule, reports, { settings })).toEqual([]);
  });

  it('uses the settings', () => {
    const settings = { nightFromHour: 9, nightToHour: 11, movingFromKmh: 50 };
    expect(
      findings(nightDrivingRule, [drive(0, { speed: 49 }), drive(5, { speed: 50 }), drive(at(11))], { settings }),
    ).toEqual(['5 night_driving']);
  });
});

describe('maintenance', () => {
  const due = (runner: RuleHarness<unknown>, odometerKm: number, nextServiceKm: number | null): void => {
    runner.context = contextOf({ vehicle: { odometerKm, nextServiceKm } });
    runner.report({ at: odometerKm });
  };

  it('is due when the mileage reaches next_service_km, once for each value', () => {
    const runner = new RuleHarness<unknown>(maintenanceDueRule, contextOf());
    due(runner, 9_000, null);
    due(runner, 9_999, 10_000);
    expect(runner.summaries(types)).toEqual([]);
    due(runner, 10_000, 10_000);
    due(runner, 10_001, 10_000);
    due(runner, 11_000, 20_000);
    due(runner, 20_000.04, 20_000);
    expect(runner.summaries(types)).toEqual(['10000 maintenance_due', '20000.04 maintenance_due']);
    expect(runner.findings[1]?.attributes).toEqual({ odometer_km: 20_000, next_service_km: 20_000 });
  });
});
