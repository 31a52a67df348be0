import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, pingService, queryStream, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';

/** A pod that takes longer to answer is busy, not dead. */
const answerLimitMs = 1_500;
/** After a broker restart a pod that lives may not hear its subject for a moment. */
const silenceLimitMs = 1_000;
const askAgainEveryMs = 250;
/** A media server that is being restarted is there again by then. */
const awayLimitMs = 5_000;

/** False only when the pod that has claimed a stream is gone, or says that it does not run it. */
export async function isRunning(bus: Bus, id: StreamId, claim: StreamClaim): Promise<boolean> {
  const until = performance.now() + silenceLimitMs;
  for (;;) {
    try {
      return (await request(bus, queryStream(claim.podId), id, { timeoutMs: answerLimitMs })).isRunning;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      // Whoever can not be asked says nothing against the stream.
      if (error.kind !== 'noResponders') return true;
      if (performance.now() >= until) return false;
      await delay(askAgainEveryMs);
    }
  }
}

/** Waits for a media server that takes streams: a camera that is sent to none gives up, and the channel would count as streaming without a picture. */
export async function waitForMediaTier(bus: Bus): Promise<void> {
  const until = performance.now() + awayLimitMs;
  // Without the broker nobody can be asked, nor the camera.
  while (bus.isUp() && !(await pingService(bus, 'jt1078-media', answerLimitMs))) {
    if (performance.now() >= until) throw new AppError('unavailable', 'No media server takes streams at the moment.');
    await delay(askAgainEveryMs);
  }
}
