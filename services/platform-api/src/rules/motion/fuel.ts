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

type Level = readonly [ms: number, litres: number];

/** A fall or a rise with a notification that may continue. */
interface Change {
  readonly type: 'fuel_drop' | 'fuel_fill';
  readonly atMs: number;
  readonly fromL: number;
  /** Extreme level so far, and its time. */
  readonly toL: number;
  readonly ms: number;
}

/** Levels of the last minutes. */
interface FuelState {
  /** Levels that are higher than all later ones, oldest first. */
  readonly highs: readonly Level[];
  /** Levels that are lower than all later ones. */
  readonly lows: readonly Level[];
  readonly change?: Change;
}

/** Enough for a sloshing tank at a report a second. */
const maxLevels = 100;

/**
 * Finds `fuel_drop` and `fuel_fill`: a tenth of the tank within 5 minutes, or 8 l if its size is unknown, standing or
 * moving. A continuing change updates the litres of its notification.
 */
export const fuelRule: Rule<FuelState> = {
  name: 'fuel',
  takesLate: false,
  step(state, report, context): Outcome<FuelState> {
    const { fuelL: litres, timestamp: ms } = report.position;
    if (litres === null) return noFindings(state);
    const { fuelWindowMs } = context.settings;
    const leastL = leastChangeL(context);
    const change = state?.change !== undefined && ms - state.change.ms <= fuelWindowMs ? state.change : undefined;
    if (change !== undefined && state !== undefined) {
      const further = change.type === 'fuel_fill' ? litres - change.toL : change.toL - litres;
      if (further > 0) return continueChange(state, { ...change, toL: litres, ms }, report.imei);
      // The direction has not changed yet.
      if (-further < leastL) return noFindings<FuelState>({ ...nextLevels(state, ms, litres, fuelWindowMs), change });
    }
    const known =
      change === undefined
        ? state
        : { highs: [[change.ms, change.toL] as const], lows: [[change.ms, change.toL] as const] };
    const levels = nextLevels(known, ms, litres, fuelWindowMs);
    const [high, low] = [levels.highs[0]?.[1] ?? litres, levels.lows[0]?.[1] ?? litres];
    if (high - litres < leastL && litres - low < leastL)
      return { state: levels, findings: [], updates: [], mustPersist: state?.change !== undefined };
    const type = high - litres >= leastL ? 'fuel_drop' : 'fuel_fill';
    const found: Change = { type, atMs: ms, fromL: type === 'fuel_drop' ? high : low, toL: litres, ms };
    const finding: Finding = findingAt(report, { type, subject: '', attributes: attributesOf(found) });
    const here: readonly Level[] = [[ms, litres]];
    return { state: { highs: here, lows: here, change: found }, findings: [finding], updates: [], mustPersist: true };
  },
};

const leastChangeL = ({ vehicle, settings }: RuleContext): number =>
  vehicle.tankCapacityL === null ? settings.fuelChangeL : vehicle.tankCapacityL * settings.fuelChange;

const roundedL = (litres: number): number => Math.round(litres * 10) / 10;

const attributesOf = ({ fromL, toL }: Change): Readonly<Record<string, unknown>> => ({
  from_l: fromL,
  to_l: toL,
  change_l: roundedL(toL - fromL),
});

function continueChange(state: FuelState, change: Change, imei: string): Outcome<FuelState> {
  const here: readonly Level[] = [[change.ms, change.toL]];
  const dedupeKey = dedupeKeyOf(imei, { type: change.type, subject: '', atMs: change.atMs });
  const update: FindingUpdate = { dedupeKey, attributes: attributesOf(change) };
  return { state: { ...state, highs: here, lows: here, change }, findings: [], updates: [update], mustPersist: true };
}

const nextLevels = (
  state: Pick<FuelState, 'highs' | 'lows'> | undefined,
  ms: number,
  litres: number,
  windowMs: number,
): Pick<FuelState, 'highs' | 'lows'> => ({
  highs: withLevel(state?.highs ?? [], [ms, litres], windowMs, (level) => level > litres),
  lows: withLevel(state?.lows ?? [], [ms, litres], windowMs, (level) => level < litres),
});

/** Restarts a constant level at the current time. */
const withLevel = (
  levels: readonly Level[],
  newest: Level,
  windowMs: number,
  outlasts: (litres: number) => boolean,
): readonly Level[] => [
  ...levels.filter(([ms, litres]) => newest[0] - ms <= windowMs && outlasts(litres)).slice(1 - maxLevels),
  newest,
];
