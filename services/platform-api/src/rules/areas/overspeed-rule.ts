import type { Report } from '../../telemetry/report.ts';
import { type AlarmState, type Condition, type ReportSequence, retentionMs } from '../alarms/alarm-state.ts';
import { AlarmTracker } from '../alarms/alarm-tracker.ts';
import { findingAt } from '../finding.ts';
import {
  dedupeKeyOf,
  type Finding,
  type FindingUpdate,
  noFindings,
  type Outcome,
  type Rule,
  type RuleContext,
} from '../rule.ts';
import { type Limit, limitBelow } from './limits.ts';

/** State of a vehicle's speeding. Times are the device's. */
export interface OverspeedState {
  /** Time of the newest counted report. */
  readonly ms: number;
  /** Start of the time above a limit; absent below. */
  readonly aboveSinceMs?: number;
  /** True once the current range has its notification. */
  readonly isRaised?: true;
  /** The terminal's own alarm. */
  readonly bit?: Condition;
  /** The newest notification, and its count. */
  readonly first?: { readonly atMs: number; readonly count: number };
  /** Alarms of late reports. */
  readonly late?: AlarmState;
}

const alarmBit = 1;
const type = 'overspeed';
const subject = '';
const conditionKey = `${type}|${subject}`;

/**
 * Combines the terminal's alarm bit 1 with the platform's own measurement: above the lowest limit of geofence, route
 * and vehicle for 10 s. A range lasts while either is active, and is one notification. The bit is raised and folded
 * like other alarms; only the bit counts in late reports.
 */
export const overspeedRule: Rule<OverspeedState> = {
  name: type,
  takesLate: true,
  step(state, report, context): Outcome<OverspeedState> {
    if (report.isLate) return evaluateLate(state, report, context);
    const { timestamp, gpsValid, speed, latitude, longitude } = report.position;
    const limit = gpsValid ? limitBelow(speed, latitude, longitude, timestamp, context) : null;
    const isUp = isBitUp(report);
    if (state === undefined && limit === null && !isUp) return noFindings<OverspeedState>(state);
    const before =
      state === undefined || timestamp - state.ms > context.settings.offlineAfterMs ? restartRange(state) : state;
    return new SpeedingRange(before, report, context, limit, isUp).outcome();
  },
};

const isBitUp = ({ alarmWord }: Report): boolean => ((alarmWord >>> alarmBit) & 1) === 1;

type RetainedState = Omit<OverspeedState, 'ms'>;

/** Keeps the bit, which may have been active throughout. */
const restartRange = (state: OverspeedState | undefined): RetainedState => ({
  ...(state?.bit === undefined ? {} : { bit: state.bit }),
  ...(state?.isRaised === true && state.bit?.clearMs === null ? { isRaised: true } : {}),
  ...(state?.late === undefined ? {} : { late: state.late }),
});

/** Applies a report to its range. */
class SpeedingRange {
  readonly #before: RetainedState;
  readonly #report: Report;
  readonly #context: RuleContext;
  readonly #limit: Limit | null;
  readonly #isUp: boolean;
  readonly #findings: Finding[] = [];
  readonly #updates: FindingUpdate[] = [];
  #first: OverspeedState['first'];
  #isRaised: boolean;

  constructor(before: RetainedState, report: Report, context: RuleContext, limit: Limit | null, isUp: boolean) {
    this.#before = before;
    this.#report = report;
    this.#context = context;
    this.#limit = limit;
    this.#isUp = isUp;
    this.#first = before.first;
    this.#isRaised = before.isRaised ?? false;
  }

  outcome(): Outcome<OverspeedState> {
    const { bit, late } = this.#before;
    const aboveSinceMs = this.#aboveSinceMs();
    const hasEnded = !this.#isUp && aboveSinceMs === undefined;
    if (this.#isUp && bit?.clearMs !== null) this.#onBitSet(bit);
    if (this.#limit !== null && aboveSinceMs !== undefined && !this.#isRaised) {
      if (this.#ms - aboveSinceMs >= this.#context.settings.overspeedMs) this.#addFinding();
    }
    const condition = this.#nextBit(bit);
    const { foldMs } = this.#context.settings;
    const first = this.#first !== undefined && this.#ms - this.#first.atMs <= foldMs ? this.#first : undefined;
    const rest: RetainedState = {
      ...(aboveSinceMs === undefined ? {} : { aboveSinceMs }),
      ...(this.#isRaised && !hasEnded ? { isRaised: true } : {}),
      ...(condition === undefined ? {} : { bit: condition }),
      ...(first === undefined ? {} : { first }),
      ...(late === undefined ? {} : { late }),
    };
    const isOver = hasEnded && condition === undefined && first === undefined && late === undefined;
    const mustPersist =
      this.#findings.length + this.#updates.length > 0 ||
      (rest.isRaised ?? false) !== (this.#before.isRaised ?? false) ||
      (condition?.clearMs === null) !== (bit?.clearMs === null);
    const state = isOver ? undefined : { ms: this.#ms, ...rest };
    return { state, findings: this.#findings, updates: this.#updates, mustPersist };
  }

  get #ms(): number {
    return this.#report.position.timestamp;
  }

  // A report without a fix has no speed.
  #aboveSinceMs(): number | undefined {
    if (!this.#report.position.gpsValid) return this.#before.aboveSinceMs;
    return this.#limit === null ? undefined : (this.#before.aboveSinceMs ?? this.#ms);
  }

  #onBitSet(bit: Condition | undefined): void {
    const { rearmMs, foldMs } = this.#context.settings;
    const isArmed = bit === undefined || bit.clearMs === null || this.#ms - bit.clearMs >= rearmMs;
    if (isArmed && !this.#isRaised) {
      this.#addFinding();
      return;
    }
    const first = this.#first;
    if (first === undefined || this.#ms - first.atMs > foldMs) return;
    this.#first = { atMs: first.atMs, count: first.count + 1 };
    const dedupeKey = dedupeKeyOf(this.#report.imei, { type, subject, atMs: first.atMs });
    this.#updates.push({ dedupeKey, attributes: { count: this.#first.count } });
  }

  #addFinding(): void {
    const attributes = {
      speed: this.#report.position.speed,
      limit: this.#limit?.limitKmh ?? null,
      limit_source: this.#limit?.source ?? 'terminal',
    };
    this.#findings.push(findingAt(this.#report, { type, subject, attributes }));
    this.#first = { atMs: this.#ms, count: 1 };
    this.#isRaised = true;
  }

  #nextBit(bit: Condition | undefined): Condition | undefined {
    if (this.#isUp)
      return bit === undefined || (bit.clearMs !== null && this.#ms - bit.clearMs >= this.#context.settings.rearmMs)
        ? { firstMs: this.#ms, lastMs: this.#ms, clearMs: null }
        : { firstMs: bit.firstMs, lastMs: this.#ms, clearMs: null };
    if (bit === undefined || bit.clearMs === null) return bit && { ...bit, clearMs: this.#ms };
    return this.#ms - bit.clearMs > retentionMs ? undefined : bit;
  }
}

function evaluateLate(
  state: OverspeedState | undefined,
  report: Report,
  context: RuleContext,
): Outcome<OverspeedState> {
  const isUp = isBitUp(report);
  if (!isUp && state?.late === undefined) return noFindings(state);
  const present: ReportSequence | undefined =
    state?.bit === undefined ? undefined : { atMs: state.ms, conditions: { [conditionKey]: state.bit }, open: {} };
  const known: AlarmState = { ...state?.late, ...(present === undefined ? {} : { present }) };
  const tracker = new AlarmTracker(known, report, context);
  const { speed } = report.position;
  tracker.updateSustained(
    isUp ? [{ type, subject, attributes: { speed, limit: null, limit_source: 'terminal' } }] : [],
  );
  const outcome = tracker.outcome();
  const { present: _present, ...late } = outcome.state ?? {};
  const { late: _late, ...rest } = state ?? { ms: report.position.timestamp };
  const next = Object.keys(late).length === 0 ? rest : { ...rest, late };
  return { ...outcome, state: state === undefined && next === rest ? undefined : next };
}
