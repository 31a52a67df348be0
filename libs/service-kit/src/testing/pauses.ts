const lookEveryMs = 20;

/** Lets so much time pass; answers the longest part of it in which this process stood still, as it may on a busy machine. */
export async function longestPauseWithin(durationMs: number): Promise<number> {
  const startedAtMs = performance.now();
  let longestMs = 0;
  for (let lastMs = startedAtMs; lastMs - startedAtMs < durationMs; ) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  }
  return longestMs;
}
