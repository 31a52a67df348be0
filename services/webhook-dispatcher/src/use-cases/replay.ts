import { randomBytes } from 'node:crypto';
import type { WebhookRepository } from '@fleet/storage';

/** What a span is replayed with. */
export interface ReplayDeps {
  readonly records: Pick<WebhookRepository, 'findIds' | 'insertReplay'>;
  readonly replayPerSecond: number;
}

/** What is replayed. */
export interface Replay {
  readonly webhookId: number;
  readonly sinceMs: number;
  readonly untilMs: number | null;
  readonly statuses: readonly ('failed' | 'skipped')[];
}

/** Deliveries of one replay, at most. */
const maxDeliveries = 10_000;

/** Queues deliveries of a span again, the oldest first, so many a second; answers how many. They are stored before the answer: a crash loses none. */
export async function queueReplay({ records, replayPerSecond }: ReplayDeps, replay: Replay): Promise<number> {
  const ids = await records.findIds(replay.webhookId, replay, maxDeliveries);
  const id = randomBytes(12).toString('hex');
  const nowMs = Date.now();
  // A document for each second.
  const batchSize = replayPerSecond;
  const batches = Array.from({ length: Math.ceil(ids.length / batchSize) }, (_unused, batchIndex) => ({
    _id: `${id}:${batchIndex}`,
    webhookId: replay.webhookId,
    deliveryIds: ids.slice(batchIndex * batchSize, (batchIndex + 1) * batchSize),
    dueAtMs: nowMs + batchIndex * 1_000,
  }));
  await records.insertReplay(batches);
  return ids.length;
}
