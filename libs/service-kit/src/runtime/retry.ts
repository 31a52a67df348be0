const retryDelayMs = 1_000;

/** A task that is repeated until it succeeds once. */
interface Retry {
  readonly isDone: boolean;
  /** Ends the retries and waits for a running attempt. */
  readonly stop: () => Promise<void>;
}

/** Repeats a task each second until it succeeds once, so that a service can start before its backends. */
export function retryUntilSuccess(task: () => Promise<void>, onError: (error: unknown) => void): Retry {
  let isDone = false;
  let isStopped = false;
  let timer: NodeJS.Timeout | undefined;
  const attempt = async (): Promise<void> => {
    try {
      await task();
      isDone = true;
    } catch (error) {
      onError(error);
      if (isStopped) return;
      timer = setTimeout(() => {
        running = attempt();
      }, retryDelayMs);
    }
  };
  let running = attempt();
  return {
    get isDone() {
      return isDone;
    },
    stop: async () => {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
