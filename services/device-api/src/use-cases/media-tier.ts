import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, pingService, queryStream, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';

/** A pod that takes longer to reply is busy, not dead. */
const answerLimitMs = 1_500;
/** After a broker restart a live pod may be unsubscribed for a moment. */
const silenceLimitMs = 1_000;
const askAgainEveryMs = 250;
/** A restarting media server is back within this time. */
const awayLimitMs = 5_000;

/** Returns false only if the pod that claimed a stream is dead, or does not run the stream. */
export async function isRunning(bus: Bus, id: StreamId, claim: StreamClaim): Promise<boolean> {
  const until = performance.now() + silenceLimitMs;
  for (;;) {
    try {
      return (await request(bus, queryStream(claim.podId), id, { timeoutMs: answerLimitMs })).isRunning;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      // An unreachable pod says nothing about the stream.
      if (error.kind !== 'noResponders') return true;
      if (performance.now() >= until) return false;
      await delay(askAgainEveryMs);
    }
  }
}

/**
 * Waits for a media server that accepts streams: a camera without a server gives up, and the channel would count as
 * streaming without a picture.
 */
export async function waitForMediaTier(bus: Bus): Promise<void> {
  const until = performance.now() + awayLimitMs;
  // Without the broker neither media servers nor the camera are reachable.
  while (bus.isUp() && !(await pingService(bus, 'jt1078-media', answerLimitMs))) {
    if (performance.now() >= until) throw new AppError('unavailable', 'No media server accepts streams at the moment.');
    await delay(askAgainEveryMs);
  }
}
