import { raisedBy } from '../of-report.ts';
import { type Outcome, quiet, type Rule } from '../rule.ts';

/** The battery is low and was reported. */
export interface LowBatteryState {
  readonly isLow: true;
}

/** Finds `low_battery`: at 20 % or less, once until it is charged above. */
export const lowBatteryRule: Rule<LowBatteryState> = {
  name: 'low_battery',
  takesLate: false,
  takesHeartbeats: true,
  step(state, report, { settings }): Outcome<LowBatteryState> {
    const { batteryPercent } = report.position;
    if (batteryPercent === null) return quiet(state);
    const isLow = batteryPercent <= settings.lowBatteryPercent;
    if (isLow === (state !== undefined)) return quiet(state);
    if (!isLow) return { state: undefined, raised: [], amended: [], turned: true };
    const attributes = { battery_percent: batteryPercent };
    const raised = raisedBy(report, { type: 'low_battery', subject: '', attributes });
    return { state: { isLow: true }, raised: [raised], amended: [], turned: true };
  },
};
