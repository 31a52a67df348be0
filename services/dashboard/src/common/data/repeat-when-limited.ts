import { ApiFailure } from '@fleet/api-client';

const maxWaitSeconds = 60;

/**
 * Runs a request, and again while the server limits the rate, after the time that the server names. Reports each wait
 * in seconds, and 0 when it ends.
 */
export async function repeatWhenLimited<T>(run: () => Promise<T>, onWait: (seconds: number) => void): Promise<T> {
  for (;;) {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status !== 429) throw error;
      const seconds = Math.min(maxWaitSeconds, Math.max(1, error.retryAfterSeconds ?? 1));
      onWait(seconds);
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
      onWait(0);
    }
  }
}
