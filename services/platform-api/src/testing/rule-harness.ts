import { readEnv } from '@fleet/service-kit';
import { geofenceDefaults } from '../domains/geofences/rules.ts';
import type { Geofence } from '../domains/geofences/schema.ts';
import { buildShape, type ShapeInput } from '../domains/geofences/shapes.ts';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import { createPath, routeDefaults } from '../domains/planned-routes/rules.ts';
import type { StoredRoute } from '../domains/planned-routes/schema.ts';
import { destination, type Position } from '../geometry/positions.ts';
import { thresholdSettings } from '../platform/thresholds.ts';
import type { GeofenceState } from '../rules/areas/geofence-rule.ts';
import type { Finding, Outcome, Rule, RuleContext, RuleVehicle } from '../rules/rule.ts';
import { readRuleSettings, ruleSettings } from '../rules/rule-settings.ts';
import type { Report } from '../telemetry/report.ts';
import { lastLocationAt } from './last-location.ts';

/** Device time of second 0: Saturday, 31 January 2026, 10:00 in Shanghai. */
export const startMs = Date.parse('2026-01-31T02:00:00.000Z');

/** Fields of a report that a test sets. The others are those of a driving car with a fix. */
export type ReportSketch = Partial<LastLocation> & {
  /** Seconds since `startMs`. */
  readonly at: number;
  readonly place?: Position;
  readonly alarmWord?: number;
  readonly isLate?: boolean;
};

export const imei = '138000000001';
/** Centre of the positions in the tests. */
export const home: Position = [22.5, 114];

/** Returns the position at a distance north and east of the centre. */
export const away = (northM: number, eastM = 0, from: Position = home): Position => {
  const north = destination(from, northM < 0 ? 180 : 0, Math.abs(northM));
  return destination(north, eastM < 0 ? 270 : 90, Math.abs(eastM));
};

function reportOf({ at, place = home, alarmWord = 0, isLate = false, ...position }: ReportSketch): Report {
  return {
    imei,
    position: {
      ...lastLocationAt(imei, place[0], place[1]),
      speed: 40,
      ignition: true,
      timestamp: startMs + at * 1_000,
      serverTimestamp: startMs + at * 1_000 + 500,
      ...position,
    },
    edition: '2013',
    serialNo: 1,
    alarmWord,
    statusWord: 3,
    extras: [],
    hash: '00'.repeat(8),
    isLate,
  };
}

const record = { createdAt: new Date(startMs), updatedAt: new Date(startMs), version: 1, accountId: 1 };
let ids = 0;

type GeofenceSketch = Partial<Geofence> & {
  readonly shape: Partial<ShapeInput> & Pick<ShapeInput, 'type' | 'positions'>;
};

/** Returns a geofence with notifications for all events. */
export const geofenceOf = ({ shape, ...fields }: GeofenceSketch): Geofence => ({
  ...record,
  _id: (ids += 1),
  ...geofenceDefaults,
  name: 'Yard',
  notifyOn: ['enter', 'exit', 'dwell'],
  ...buildShape({ radiusM: null, widthM: null, ...shape }),
  ...fields,
});

/** Returns a circle around the centre. */
export const circleOf = (radiusM: number, fields: Partial<Geofence> = {}, centre = home): Geofence =>
  geofenceOf({ shape: { type: 'circle', positions: [centre], radiusM }, ...fields });

/** Returns an active route with notifications for all events. */
export const routeOf = (line: readonly Position[], fields: Partial<StoredRoute> = {}): StoredRoute => ({
  ...record,
  _id: (ids += 1),
  name: 'North',
  ...routeDefaults,
  ...createPath(line, 'client'),
  ...fields,
});

const vehicle: RuleVehicle = {
  id: 7,
  accountId: 1,
  ownerUserId: 1,
  vehicleNo: 'TEST1',
  imei,
  timezone: 'Asia/Shanghai',
  cameraUtcOffset: '+08:00',
  speedLimitKmh: null,
  tankCapacityL: null,
  driverId: null,
  odometerKm: 0,
  nextServiceKm: null,
};

type ContextSketch = Partial<Omit<RuleContext, 'vehicle' | 'settings'>> & {
  readonly vehicle?: Partial<RuleVehicle>;
  readonly settings?: Partial<RuleContext['settings']>;
};

/** Settings of rules without environment variables. */
export const defaultRuleSettings = readRuleSettings(readEnv({ ...ruleSettings, ...thresholdSettings }, {}));

export const contextOf = (sketch: ContextSketch = {}): RuleContext => ({
  geofences: [],
  routes: [],
  ...sketch,
  vehicle: { ...vehicle, ...sketch.vehicle },
  settings: { ...defaultRuleSettings, ...sketch.settings },
});

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) frozen(part);
  }
  return value;
}

/**
 * Runs a rule on the reports of a vehicle. States are converted to JSON and back, as in Redis, and frozen, so that
 * writing to one throws. Each report is processed twice, and both outcomes must be equal.
 */
export class RuleHarness<S> {
  readonly outcomes: Outcome<S>[] = [];
  readonly findings: Finding[] = [];
  state: S | undefined;
  readonly #rule: Rule<S>;
  context: RuleContext;

  constructor(rule: Rule<S>, context: RuleContext) {
    this.#rule = rule;
    this.context = context;
  }

  report(...sketches: readonly ReportSketch[]): this {
    for (const sketch of sketches) {
      const report = frozen(reportOf(sketch));
      if (report.isLate && !this.#rule.takesLate) continue;
      const outcome = this.#rule.step(frozen(this.state), report, this.context);
      const again = this.#rule.step(this.state, report, this.context);
      if (JSON.stringify(outcome) !== JSON.stringify(again)) throw new Error('the rule has state of its own');
      this.outcomes.push(outcome);
      this.findings.push(...outcome.findings);
      this.state = outcome.state === undefined ? undefined : (JSON.parse(JSON.stringify(outcome.state)) as S);
    }
    return this;
  }

  /** Returns the findings in short form: second, type and a text. */
  summaries(format: (raised: Finding) => string = ({ subject }) => subject): string[] {
    return this.findings.map((each) => `${(each.atMs - startMs) / 1_000} ${format(each)}`);
  }
}

/** Returns the ids of the geofences that contain a vehicle, from the rule's state. */
export const insideIds = (state: GeofenceState | undefined): number[] =>
  Object.entries(state?.presences ?? {})
    .filter(([, { isInside }]) => isInside)
    .map(([id]) => Number(id));
