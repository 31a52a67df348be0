/** Result of a check, in plain words. */
export interface Finding {
  readonly status: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly text: string;
  /** What to do; absent if nothing is wrong. */
  readonly advice?: string;
}

/** One check of a running installation. */
export interface Check {
  readonly name: string;
  /** Default: 30 seconds. */
  readonly timeoutMs?: number;
  /** Rejects, or resolves with a finding. `signal` is aborted when the time is over. */
  readonly run: (signal: AbortSignal) => Promise<Finding>;
  /** What to do if `run` rejects or takes too long. */
  readonly advice: string;
}

/** A finding with the name and duration of its check. */
export interface Verdict extends Finding {
  readonly name: string;
  readonly durationMs: number;
}

const defaultTimeoutMs = 30_000;

export const ok = (text: string): Finding => ({ status: 'ok', text });
export const skipped = (text: string): Finding => ({ status: 'skipped', text });
export const warning = (text: string, advice: string): Finding => ({ status: 'warning', text, advice });
export const failed = (text: string, advice: string): Finding => ({ status: 'failed', text, advice });

/** Returns the message of an error with its cause, such as the system error of `fetch`. */
function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? `: ${error.cause.message || error.cause.name}` : '';
  return `${error.message}${cause}`;
}

/** Runs a check within its time limit. Never rejects. */
export async function runCheck({ name, timeoutMs = defaultTimeoutMs, run, advice }: Check): Promise<Verdict> {
  const startedAtMs = performance.now();
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), timeoutMs);
  const isLate = new Promise<Finding>((resolve) => {
    limit.signal.addEventListener('abort', () =>
      resolve(failed(`No result within ${Math.round(timeoutMs / 1000)} s.`, advice)),
    );
  });
  const finding = await Promise.race([
    run(limit.signal).catch((error: unknown) => failed(describeCause(error), advice)),
    isLate,
  ]);
  clearTimeout(timer);
  return { name, ...finding, durationMs: Math.round(performance.now() - startedAtMs) };
}
