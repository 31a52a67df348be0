import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '@fleet/bus';

interface StreamingCheck {
  /** Returns whether the camera has connected for this request. */
  readonly isStreaming: () => Promise<boolean>;
  /** A camera that has connected may still respond within this time. */
  readonly responseGraceMs?: number;
  readonly pollIntervalMs?: number;
}

/** A camera responds well within a second after it has connected. */
const defaultResponseGraceMs = 3_000;
const defaultPollIntervalMs = 200;

/**
 * Returns the outcome of a command that starts a stream, or `streaming` if the camera streams and no response has
 * followed. The response is lost if the gateway dies that received it.
 */
export async function sendUntilStreaming(
  outcome: Promise<Outcome>,
  check: StreamingCheck,
): Promise<Outcome | 'streaming'> {
  const ended = new AbortController();
  try {
    return await Promise.race([outcome, waitUntilStreaming(check, ended.signal)]);
  } finally {
    ended.abort();
  }
}

/** Resolves once the camera has streamed for the whole grace time. Rejects when `signal` is aborted. */
async function waitUntilStreaming(
  { isStreaming, responseGraceMs = defaultResponseGraceMs, pollIntervalMs = defaultPollIntervalMs }: StreamingCheck,
  signal: AbortSignal,
): Promise<'streaming'> {
  let sinceMs: number | null = null;
  for (;;) {
    await delay(pollIntervalMs, undefined, { signal });
    // A camera that leaves again may still refuse.
    if (!(await isStreaming())) sinceMs = null;
    else if (sinceMs === null) sinceMs = performance.now();
    else if (performance.now() - sinceMs >= responseGraceMs) return 'streaming';
  }
}
