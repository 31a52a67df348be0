/** Repeats a task; a run that takes longer than the period is not overtaken. Answers how to stop, which waits for a run under way. */
export function every(
  periodMs: number,
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
  }, periodMs);
  return async () => {
    clearInterval(timer);
    await running;
  };
}
