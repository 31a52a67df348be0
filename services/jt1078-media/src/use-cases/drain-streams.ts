import { setTimeout as delay } from 'node:timers/promises';
import { type Bus, pingService } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import type { HlsOutputs } from './hls-outputs.ts';

/** Players load the last segments of this pod while they have requested a file within this time. */
const readerTimeoutMs = 4_000;
const maxReadMs = 15_000;
const pollIntervalMs = 100;
const pingTimeoutMs = 1_500;

/** Parts of a stopping pod. */
interface DrainDeps {
  readonly bus: Bus;
  readonly registry: Pick<StreamRegistry, 'moveStreams'>;
  readonly hls: Pick<HlsOutputs, 'hasMovedReaders'>;
  /** Stops to accept cameras. */
  readonly refuseCameras: () => void;
  readonly log: Logger;
}

/**
 * Lets other pods have the live streams of this one. Waits until players have read the rest of HLS, unless the next pod
 * starts only after this one has stopped. Call it after the end of the ping.
 */
export async function drainStreams({ bus, registry, hls, refuseCameras, log }: DrainDeps): Promise<void> {
  refuseCameras();
  const movedStreams = await registry.moveStreams();
  if (movedStreams === 0) return;
  log.info({ movedStreams }, 'moved the live streams');
  if (!hls.hasMovedReaders(readerTimeoutMs) || !(await pingService(bus, 'jt1078-media', pingTimeoutMs))) return;
  const deadlineMs = performance.now() + maxReadMs;
  while (hls.hasMovedReaders(readerTimeoutMs) && performance.now() < deadlineMs) await delay(pollIntervalMs);
}
