import { setTimeout as sleep } from 'node:timers/promises';

const pollIntervalMs = 10;
/** Less than the time-out of a test, so that the error of a failed test names the condition. */
const defaultTimeoutMs = 50_000;

/**
 * Polls until the result of `check` is neither false, null nor undefined, and returns it. Throws an error with
 * `description` after `timeoutMs`.
 */
export async function waitFor<T>(
  check: () => T | Promise<T>,
  description = String(check),
  timeoutMs = defaultTimeoutMs,
): Promise<Exclude<T, false | null | undefined>> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const result = await check();
    if (result !== false && result !== null && result !== undefined)
      return result as Exclude<T, false | null | undefined>;
    if (performance.now() > deadlineMs) throw new Error(`not met within ${timeoutMs} ms: ${description}`);
    await sleep(pollIntervalMs);
  }
}

/** Repeats an assertion until it passes; throws its last failure after `timeoutMs`. */
export async function waitForAssertion(assert: () => void | Promise<void>, timeoutMs = 20_000): Promise<void> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    try {
      await assert();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await sleep(pollIntervalMs);
    }
  }
}
