/** Reports the progress of steps, so that no long step is silent. */
export interface Progress {
  line(text: string): void;
  step<T>(title: string, work: () => Promise<T>): Promise<T>;
}

const heartbeatMs = 5_000;
/** Faster steps get no second line. */
const reportThresholdMs = 1_000;

export function createProgress(write: (text: string) => void): Progress {
  const line = (text: string): void => write(`${text}\n`);
  return {
    line,
    async step(title, work) {
      const startedAt = performance.now();
      const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(1);
      line(`- ${title} ...`);
      const heartbeat = setInterval(() => line(`  ${title}: ${seconds()} s so far`), heartbeatMs);
      try {
        const result = await work();
        if (performance.now() - startedAt >= reportThresholdMs) line(`  ${title}: done in ${seconds()} s`);
        return result;
      } finally {
        clearInterval(heartbeat);
      }
    },
  };
}
