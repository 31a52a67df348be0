import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, BusError, pingService, queryStream, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';

/** A pod that takes longer to reply is busy, not dead. */
const responseTimeoutMs = 1_500;
/** After a broker restart a live pod may be unsubscribed for a moment. */
const noRespondersTimeoutMs = 1_000;
const retryIntervalMs = 250;
/** A restarting media server is back within this time. */
const unavailableTimeoutMs = 5_000;

/** Returns false only if the pod that claimed a stream is dead, or does not run the stream. */
export async function isStreamRunning(bus: Bus, id: StreamId, claim: StreamClaim): Promise<boolean> {
  const deadlineMs = performance.now() + noRespondersTimeoutMs;
  for (;;) {
    try {
      return (await request(bus, queryStream(claim.podId), id, { timeoutMs: responseTimeoutMs })).isRunning;
    } catch (error) {
      if (!(error instanceof BusError)) throw error;
      // An unreachable pod says nothing about the stream.
      if (error.kind !== 'noResponders') return true;
      if (performance.now() >= deadlineMs) return false;
      await delay(retryIntervalMs);
    }
  }
}

/**
 * Waits for a media server that accepts streams: a camera without a server gives up, and the channel would count as
 * streaming without a picture.
 */
export async function waitForMediaServer(bus: Bus): Promise<void> {
  const deadlineMs = performance.now() + unavailableTimeoutMs;
  // Without the broker neither media servers nor the camera are reachable.
  while (bus.isUp() && !(await pingService(bus, 'jt1078-media', responseTimeoutMs))) {
    if (performance.now() >= deadlineMs)
      throw new AppError('unavailable', 'No media server accepts streams at the moment. Retry later.');
    await delay(retryIntervalMs);
  }
}
