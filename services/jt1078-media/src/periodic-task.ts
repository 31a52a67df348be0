/** Repeats a task without overlapping runs. Returns a function that stops it and waits for a run in progress. */
export function startPeriodicTask(
  intervalMs: number,
  task: () => Promise<void> | void,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let running: Promise<void> | null = null;
  const run = async (): Promise<void> => {
    try {
      await task();
    } catch (error) {
      onError(error);
    } finally {
      running = null;
    }
  };
  const timer = setInterval(() => {
    running ??= run();
  }, intervalMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
