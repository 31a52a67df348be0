/** Numbers of the rules that are computed here (platform-contract.md, section 13.2); each is a setting. */
export interface RuleSettings {
  readonly overspeedMs: number;
  readonly idlingMs: number;
  /** From this speed on a vehicle moves: it does not idle, is towed, is driven at night. */
  readonly movingKmh: number;
  /** Share of the tank, 0 to 1. */
  readonly fuelChange: number;
  /** Litres, where the tank is not known. */
  readonly fuelChangeL: number;
  readonly fuelWindowMs: number;
  readonly lowBatteryPercent: number;
  /** Hours of the vehicle's clock: from, up to. */
  readonly nightFromHour: number;
  readonly nightToHour: number;
  /** The same terminal alarm within this time is folded into the first. */
  readonly foldMs: number;
  /** A terminal's alarm bit is raised again only after it was clear for this long. */
  readonly rearmMs: number;
}

/** As the contract has them. */
export const defaultRuleSettings: RuleSettings = {
  overspeedMs: 10_000,
  idlingMs: 300_000,
  movingKmh: 5,
  fuelChange: 0.1,
  fuelChangeL: 8,
  fuelWindowMs: 300_000,
  lowBatteryPercent: 20,
  nightFromHour: 23,
  nightToHour: 5,
  foldMs: 30_000,
  rearmMs: 60_000,
};
