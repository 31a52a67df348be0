const dayMs = 86_400_000;
/** A clock that was never set is off by years. */
const longestAgoMs = 366 * dayMs;
/** No two clocks of the world are farther apart. */
const furthestAheadMs = 2 * dayMs;

/** When a file was taken, told on the terminal's own clock; when it was received where that cannot be. */
export function instantTaken(takenAt: string | null, cameraUtcOffset: string, receivedAtMs: number): Date {
  const atMs = takenAt === null ? Number.NaN : Date.parse(`${takenAt}${cameraUtcOffset}`);
  const isPlausible = atMs > receivedAtMs - longestAgoMs && atMs < receivedAtMs + furthestAheadMs;
  return new Date(isPlausible ? atMs : receivedAtMs);
}
