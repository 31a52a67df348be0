import { setTimeout as delay } from 'node:timers/promises';

const sampleIntervalMs = 20;

/** Watches from now on, until its answer is called: that tells for how long at most this process stood still, as it may on a busy machine. */
export function monitorEventLoopLag(): () => number {
  let lastMs = performance.now();
  let maxLagMs = 0;
  const sample = (): void => {
    const nowMs = performance.now();
    maxLagMs = Math.max(maxLagMs, nowMs - lastMs);
    lastMs = nowMs;
  };
  const timer = setInterval(sample, sampleIntervalMs);
  return () => {
    clearInterval(timer);
    sample();
    return maxLagMs;
  };
}

/** Lets so much time pass; answers the longest part of it in which this process stood still. */
export async function maxLagWithin(durationMs: number): Promise<number> {
  const stopMonitor = monitorEventLoopLag();
  await delay(durationMs);
  return stopMonitor();
}
