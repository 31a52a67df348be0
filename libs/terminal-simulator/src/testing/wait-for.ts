/** Waits for a condition, looking every few milliseconds; fails with what was waited for. */
export async function waitFor(description: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${description}: not within ${timeoutMs} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
