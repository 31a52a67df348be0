/** Repeats a task; a run that takes longer than the period is not overtaken. Answers how to stop, which waits for a run under way. */
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
