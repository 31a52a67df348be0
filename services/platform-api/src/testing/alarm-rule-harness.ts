import type { AdditionalItem } from '@fleet/jt808';
import { dedupeKeyOf, type Outcome, type Rule, type RuleContext } from '../rules/rule.ts';
import type { Report } from '../telemetry/report.ts';
import { defaultRuleSettings } from './rule-harness.ts';

/** Device time of second 0 of the tests: 10:00:00 on a clock of +08:00. */
export const startMs = Date.parse('2026-01-31T02:00:00.000Z');

/** Values of a report. */
export interface Sketch {
  /** Seconds since `startMs`. */
  readonly at: number;
  /** Bits of the alarm word. */
  readonly bits?: readonly number[];
  readonly extras?: readonly AdditionalItem[];
  readonly edition?: Report['edition'];
  readonly isLate?: boolean;
  readonly backfilled?: boolean;
  readonly statusWord?: number;
}

const hash = '00'.repeat(8);

/** Returns a report at a position with a fix. */
export const reportOf = ({ at, bits = [], extras = [], edition = '2013', ...rest }: Sketch): Report => ({
  imei: '138000000001',
  position: {
    imei: '138000000001',
    latitude: 22.5,
    longitude: 114,
    altitude: 10,
    speed: 40,
    course: 90,
    gpsValid: true,
    satellites: 9,
    signal: 20,
    ignition: true,
    odometerKm: 100,
    fuelL: null,
    batteryPercent: null,
    externalVoltage: null,
    alarms: [],
    source: edition === 'partner' ? 'partner' : 'jt808',
    backfilled: rest.backfilled ?? false,
    slowSinceMs: null,
    timestamp: startMs + at * 1000,
    serverTimestamp: startMs + at * 1000 + 500,
  },
  edition,
  serialNo: 1,
  alarmWord: bits.reduce((word, bit) => (word | (1 << bit)) >>> 0, 0),
  statusWord: rest.statusWord ?? 3,
  extras,
  hash,
  isLate: rest.isLate ?? false,
});

/** A vehicle without geofences and routes. */
export const context: RuleContext = {
  vehicle: {
    id: 7,
    accountId: 1,
    ownerUserId: 1,
    vehicleNo: 'TEST1',
    imei: '138000000001',
    timezone: 'Asia/Shanghai',
    cameraUtcOffset: '+08:00',
    speedLimitKmh: null,
    tankCapacityL: null,
    driverId: null,
    odometerKm: 0,
    nextServiceKm: null,
  },
  geofences: [],
  routes: [],
  settings: defaultRuleSettings,
};

/** Returns what a rule finds in successive reports; the state is converted to JSON in between, as in Redis. */
export function run<S>(rule: Rule<S>, sketches: readonly Sketch[], judgedBy: RuleContext = context): Outcome<S>[] {
  let state: S | undefined;
  return sketches.map((sketch) => {
    const outcome = rule.step(state, reportOf(sketch), judgedBy);
    state = outcome.state === undefined ? undefined : (JSON.parse(JSON.stringify(outcome.state)) as S);
    return outcome;
  });
}

/** Returns the notifications of outcomes by dedupe key, with amendments applied. */
export function foldOutcomes(outcomes: readonly Outcome<unknown>[]): Map<string, Record<string, unknown>> {
  const found = new Map<string, Record<string, unknown>>();
  for (const { findings, updates } of outcomes) {
    for (const each of findings) {
      found.set(dedupeKeyOf('138000000001', each), { ...each, attributes: { ...each.attributes } });
    }
    for (const { dedupeKey, attributes } of updates) {
      const known = found.get(dedupeKey);
      if (known === undefined) throw new Error(`${dedupeKey} was never raised`);
      known['attributes'] = { ...(known['attributes'] as object), ...attributes };
    }
  }
  return found;
}

/** Short form of raised notifications: second, type and subject. */
export const summarize = (outcomes: readonly Outcome<unknown>[]): string[] =>
  outcomes.flatMap(({ findings }) =>
    findings.map(
      ({ atMs, type, subject }) => `${(atMs - startMs) / 1000} ${type}${subject === '' ? '' : ` ${subject}`}`,
    ),
  );
