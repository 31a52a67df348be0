/** Polls a condition every few milliseconds; throws an error with the description after the timeout. */
export async function waitFor(description: string, condition: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`${description}: not met within ${timeoutMs} ms`);
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}
