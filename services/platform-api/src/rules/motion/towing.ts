import { raisedBy } from '../of-report.ts';
import { type Outcome, quiet, type Rule } from '../rule.ts';

/** A vehicle with its ignition off. */
export interface TowingState {
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
    if (ignition === null) return quiet(state);
    if (ignition) return { state: undefined, raised: [], amended: [], turned: state?.isRaised === true };
    if (state === undefined) return quiet<TowingState>({});
    if (!gpsValid) return quiet(state);
    if (speed >= settings.movingKmh) {
      if (state.isRaised === true)
        return quiet<TowingState>(state.standsSinceMs === undefined ? state : { isRaised: true });
      const raised = raisedBy(report, { type: 'towing', subject: '', attributes: { speed } });
      return { state: { isRaised: true }, raised: [raised], amended: [], turned: true };
    }
    if (state.isRaised !== true) return quiet(state);
    const standsSinceMs = state.standsSinceMs ?? ms;
    if (ms - standsSinceMs < settings.rearmMs) return quiet<TowingState>({ isRaised: true, standsSinceMs });
    return { state: {}, raised: [], amended: [], turned: true };
  },
};
