import { dayMs } from '@fleet/service-kit';

/** Largest plausible age. A clock that was never set is off by years. */
const maxAgeMs = 366 * dayMs;
/** Largest plausible lead. No two time zones are farther apart. */
const maxLeadMs = 2 * dayMs;

/**
 * Returns the time at which a file was taken by the clock of the terminal. Returns the time of its reception if the
 * former is not plausible.
 */
export function captureTime(takenAt: string | null, cameraUtcOffset: string, receivedAtMs: number): Date {
  const atMs = takenAt === null ? Number.NaN : Date.parse(`${takenAt}${cameraUtcOffset}`);
  const isPlausible = atMs > receivedAtMs - maxAgeMs && atMs < receivedAtMs + maxLeadMs;
  return new Date(isPlausible ? atMs : receivedAtMs);
}
