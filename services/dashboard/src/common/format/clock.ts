let offsetMs = 0;

/** Sets the difference between the clocks of the server and of this browser, so that ages are right. */
export function setClockOffset(differenceMs: number): void {
  offsetMs = differenceMs;
}

/** Returns the time of the server. */
export const getServerTimeMs = (): number => Date.now() + offsetMs;
