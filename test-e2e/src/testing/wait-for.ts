import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Polls until the result is neither false, null nor undefined, and returns it; fails with `description` after
 * `timeoutMs`.
 */
export async function waitFor<T>(
  description: string,
  check: () => T | Promise<T>,
  timeoutMs = 20_000,
): Promise<Exclude<T, false | null | undefined>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const result = await check();
    if (result !== false && result !== null && result !== undefined)
      return result as Exclude<T, false | null | undefined>;
    if (performance.now() > deadline) throw new Error(`${description}: not met within ${timeoutMs} ms`);
    await sleep(20);
  }
}
