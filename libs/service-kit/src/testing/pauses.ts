import { setTimeout as delay } from 'node:timers/promises';

const lookEveryMs = 20;

/** Watches from now on, until its answer is called: that tells for how long at most this process stood still, as it may on a busy machine. */
export function watchPauses(): () => number {
  let lastMs = performance.now();
  let longestMs = 0;
  const look = (): void => {
    const nowMs = performance.now();
    longestMs = Math.max(longestMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(look, lookEveryMs);
  return () => {
    clearInterval(timer);
    look();
    return longestMs;
  };
}

/** Lets so much time pass; answers the longest part of it in which this process stood still. */
export async function longestPauseWithin(durationMs: number): Promise<number> {
  const longestPause = watchPauses();
  await delay(durationMs);
  return longestPause();
}
