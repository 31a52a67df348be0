/** Waits for a condition, looking every few milliseconds; fails with what was waited for. */
export async function waitFor(what: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > until) throw new Error(`${what}: not within ${timeoutMs} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
