import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';

/** A vehicle with its ignition off. */
interface TowingState {
  readonly isRaised?: true;
  /** Start of its stop after it was towed; device time. */
  readonly standsSinceMs?: number;
}

/**
 * Finds `towing`: the vehicle moves with its ignition off. The report that turns the ignition off does not count,
 * because the vehicle may still roll. Found again only after the ignition was on, or the vehicle stood for as long as
 * an alarm must be clear.
 */
export const towingRule: Rule<TowingState> = {
  name: 'towing',
  takesLate: false,
  step(state, report, { settings }): Outcome<TowingState> {
    const { ignition, speed, gpsValid, timestamp: ms } = report.position;
    if (ignition === null) return noFindings(state);
    if (ignition) return { state: undefined, findings: [], updates: [], mustPersist: state?.isRaised === true };
    if (state === undefined) return noFindings<TowingState>({});
    if (!gpsValid) return noFindings(state);
    if (speed >= settings.movingFromKmh) {
      if (state.isRaised === true)
        return noFindings<TowingState>(state.standsSinceMs === undefined ? state : { isRaised: true });
      const finding = findingAt(report, { type: 'towing', subject: '', attributes: { speed } });
      return { state: { isRaised: true }, findings: [finding], updates: [], mustPersist: true };
    }
    if (state.isRaised !== true) return noFindings(state);
    const standsSinceMs = state.standsSinceMs ?? ms;
    if (ms - standsSinceMs < settings.rearmMs) return noFindings<TowingState>({ isRaised: true, standsSinceMs });
    return { state: {}, findings: [], updates: [], mustPersist: true };
  },
};
