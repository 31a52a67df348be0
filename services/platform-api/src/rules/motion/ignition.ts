import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';

/** Last reported ignition. */
interface IgnitionState {
  readonly isOn: boolean;
}

/** Finds `ignition_on` and `ignition_off` at each change. */
export const ignitionRule: Rule<IgnitionState> = {
  name: 'ignition',
  takesLate: false,
  takesHeartbeats: true,
  step(state, report): Outcome<IgnitionState> {
    const isOn = report.position.ignition;
    if (isOn === null || isOn === state?.isOn) return noFindings(state);
    const type = isOn ? 'ignition_on' : 'ignition_off';
    const findings = state === undefined ? [] : [findingAt(report, { type, subject: '', attributes: {} })];
    return { state: { isOn }, findings, updates: [], mustPersist: true };
  },
};
