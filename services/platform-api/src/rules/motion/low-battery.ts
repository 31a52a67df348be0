import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';

/** The battery is low and was reported. */
interface LowBatteryState {
  readonly isLow: true;
}

/** Finds `low_battery`: at 20 % or less, once until it is charged above. */
export const lowBatteryRule: Rule<LowBatteryState> = {
  name: 'low_battery',
  takesLate: false,
  takesHeartbeats: true,
  step(state, report, { settings }): Outcome<LowBatteryState> {
    const { batteryPercent } = report.position;
    if (batteryPercent === null) return noFindings(state);
    const isLow = batteryPercent <= settings.lowBatteryPercent;
    if (isLow === (state !== undefined)) return noFindings(state);
    if (!isLow) return { state: undefined, findings: [], updates: [], mustPersist: true };
    const attributes = { battery_percent: batteryPercent };
    const finding = findingAt(report, { type: 'low_battery', subject: '', attributes });
    return { state: { isLow: true }, findings: [finding], updates: [], mustPersist: true };
  },
};
