import { type ConfigOf, dayMs, envSchema } from '@fleet/service-kit';
import { readThresholds, type thresholdSettings, type VehicleThresholds } from '../platform/thresholds.ts';

/** Thresholds of the rules that this service computes; each is a setting. */
export interface RuleSettings extends VehicleThresholds {
  readonly overspeedMs: number;
  readonly idlingMs: number;
  /** Part of the tank, 0 to 1. */
  readonly fuelChange: number;
  /** Litres, if the size of the tank is unknown. */
  readonly fuelChangeL: number;
  readonly fuelWindowMs: number;
  readonly lowBatteryPercent: number;
  /** Hours of the vehicle's clock: from, to. */
  readonly nightFromHour: number;
  readonly nightToHour: number;
  /** Equal terminal alarms within this time are folded into the first. */
  readonly foldMs: number;
  /** A terminal's alarm bit is raised again only after it was clear for this long. */
  readonly rearmMs: number;
}

const hours = { type: 'integer', minimum: 0, maximum: 24 } as const;
const span = { type: 'integer', minimum: 1_000, maximum: dayMs } as const;

/** The values of `RuleSettings` in the environment. */
export const ruleSettings = envSchema({
  RULE_OVERSPEED_MS: {
    ...span,
    default: 10_000,
    description: 'time above the limit after which `overspeed` is raised',
  },
  RULE_IDLING_MS: {
    ...span,
    default: 300_000,
    description: 'time of standing with the ignition on after which `idling` is raised',
  },
  RULE_FUEL_CHANGE_PERCENT: {
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 10,
    description: 'percentage of the tank whose sudden change raises `fuel_drop` or `fuel_fill`',
  },
  RULE_FUEL_CHANGE_L: {
    type: 'integer',
    minimum: 1,
    maximum: 10_000,
    default: 8,
    description: 'the same in litres, for tanks of unknown size',
  },
  RULE_FUEL_WINDOW_MS: { ...span, default: 300_000, description: 'duration within which such a change is sudden' },
  RULE_LOW_BATTERY_PERCENT: {
    type: 'integer',
    minimum: 1,
    maximum: 99,
    default: 20,
    description: 'charge in percent at or below which the battery is low',
  },
  RULE_NIGHT_FROM_HOUR: { ...hours, default: 23, description: "hour of the vehicle's clock at which night begins" },
  RULE_NIGHT_TO_HOUR: {
    ...hours,
    default: 5,
    description: 'hour at which it ends; if it is the hour of its beginning, there is no night',
  },
  RULE_DEDUPE_WINDOW_MS: {
    formerName: 'RULE_FOLD_MS',
    ...span,
    default: 30_000,
    description: 'time within which equal alarms of a terminal are folded into the first',
  },
  RULE_REARM_MS: {
    ...span,
    default: 60_000,
    description: "time for which a terminal's alarm must be clear before it is raised again; also for `towing`",
  },
});

/** Parses the rule settings of the environment. */
export const readRuleSettings = (
  config: ConfigOf<typeof ruleSettings> & ConfigOf<typeof thresholdSettings>,
): RuleSettings => ({
  ...readThresholds(config),
  overspeedMs: config.RULE_OVERSPEED_MS,
  idlingMs: config.RULE_IDLING_MS,
  fuelChange: config.RULE_FUEL_CHANGE_PERCENT / 100,
  fuelChangeL: config.RULE_FUEL_CHANGE_L,
  fuelWindowMs: config.RULE_FUEL_WINDOW_MS,
  lowBatteryPercent: config.RULE_LOW_BATTERY_PERCENT,
  nightFromHour: config.RULE_NIGHT_FROM_HOUR,
  nightToHour: config.RULE_NIGHT_TO_HOUR,
  foldMs: config.RULE_DEDUPE_WINDOW_MS,
  rearmMs: config.RULE_REARM_MS,
});
