import { dayMs } from '../../platform/constants.ts';

/** Largest plausible age. A clock that was never set is off by years. */
const longestAgoMs = 366 * dayMs;
/** Largest plausible lead. No two time zones are farther apart. */
const furthestAheadMs = 2 * dayMs;

/**
 * Returns the time at which a file was taken by the clock of the terminal, or the time of its reception if that is not
 * plausible.
 */
export function instantTaken(takenAt: string | null, cameraUtcOffset: string, receivedAtMs: number): Date {
  const atMs = takenAt === null ? Number.NaN : Date.parse(`${takenAt}${cameraUtcOffset}`);
  const isPlausible = atMs > receivedAtMs - longestAgoMs && atMs < receivedAtMs + furthestAheadMs;
  return new Date(isPlausible ? atMs : receivedAtMs);
}
