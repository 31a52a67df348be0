import { setTimeout as delay } from 'node:timers/promises';

const sampleIntervalMs = 20;

/** Starts to measure; the returned function returns the longest pause of this process so far, as on a busy machine. */
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

/** Waits for a time; returns the longest pause of this process in it. */
export async function maxLagWithin(durationMs: number): Promise<number> {
  const stopMonitor = monitorEventLoopLag();
  await delay(durationMs);
  return stopMonitor();
}
