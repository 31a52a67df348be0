import type { Rule } from '../rule.ts';
import { fuelRule } from './fuel.ts';
import { idlingRule } from './idling.ts';
import { ignitionRule } from './ignition.ts';
import { lowBatteryRule } from './low-battery.ts';
import { maintenanceDueRule } from './maintenance-due.ts';
import { nightDrivingRule } from './night-driving.ts';
import { towingRule } from './towing.ts';

/** Rules about the use of a vehicle. */
export const motionRules: readonly Rule[] = [
  ignitionRule,
  idlingRule,
  towingRule,
  fuelRule,
  lowBatteryRule,
  nightDrivingRule,
  maintenanceDueRule,
];
