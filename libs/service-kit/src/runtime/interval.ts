/** Repeats a task, with a pause after each run. Returns a function that stops it and waits for a running task. */
export function runPeriodically(intervalMs: number, task: () => Promise<unknown>, onError: (error: unknown) => void) {
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  const run = async (): Promise<void> => {
    try {
      await task();
    } catch (error) {
      onError(error);
    }
    if (!isStopped) scheduleNext();
  };
  const scheduleNext = (): void => {
    timer = setTimeout(() => {
      running = run();
    }, intervalMs);
  };
  scheduleNext();
  return async (): Promise<void> => {
    isStopped = true;
    clearTimeout(timer);
    await running;
  };
}
