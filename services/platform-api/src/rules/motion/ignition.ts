import { raisedBy } from '../of-report.ts';
import { type Outcome, quiet, type Rule } from '../rule.ts';

/** Last reported ignition. */
export interface IgnitionState {
  readonly isOn: boolean;
}

/** Finds `ignition_on` and `ignition_off` at each change. */
export const ignitionRule: Rule<IgnitionState> = {
  name: 'ignition',
  takesLate: false,
  takesHeartbeats: true,
  step(state, report): Outcome<IgnitionState> {
    const isOn = report.position.ignition;
    if (isOn === null || isOn === state?.isOn) return quiet(state);
    const type = isOn ? 'ignition_on' : 'ignition_off';
    const raised = state === undefined ? [] : [raisedBy(report, { type, subject: '', attributes: {} })];
    return { state: { isOn }, raised, amended: [], turned: true };
  },
};
