import { findingAt } from '../finding.ts';
import { noFindings, type Outcome, type Rule } from '../rule.ts';

/** A stop with the ignition on. */
interface IdlingState {
  readonly sinceMs: number;
  /** Device time of the newest counted report. */
  readonly ms: number;
  readonly isRaised?: true;
}

/**
 * Finds `idling`: the ignition on for 5 minutes without movement, once per stop. Without a fix the movement is unknown.
 * After a silence in which the terminal counted as offline, the time starts again.
 */
export const idlingRule: Rule<IdlingState> = {
  name: 'idling',
  takesLate: false,
  step(state, report, { settings }): Outcome<IdlingState> {
    const { ignition, speed, gpsValid, timestamp: ms } = report.position;
    const hasEnded = ignition !== true || (gpsValid && speed >= settings.movingFromKmh);
    if (hasEnded) return { state: undefined, findings: [], updates: [], mustPersist: state?.isRaised === true };
    if (!gpsValid) return noFindings(state);
    const isNew = state === undefined || (ms - state.ms > settings.offlineAfterMs && state.isRaised !== true);
    const sinceMs = isNew ? ms : state.sinceMs;
    if (!isNew && state.isRaised === true) return noFindings<IdlingState>({ ...state, ms });
    if (ms - sinceMs < settings.idlingMs) return noFindings<IdlingState>({ sinceMs, ms });
    const attributes = { since: new Date(sinceMs).toISOString(), seconds: Math.round((ms - sinceMs) / 1_000) };
    const finding = findingAt(report, { type: 'idling', subject: '', attributes });
    return { state: { sinceMs, ms, isRaised: true }, findings: [finding], updates: [], mustPersist: true };
  },
};
