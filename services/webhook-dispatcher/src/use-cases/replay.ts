import { randomBytes } from 'node:crypto';
import type { WebhookRecords } from '@fleet/storage';

/** What a span is replayed with. */
export interface ReplayParts {
  readonly records: Pick<WebhookRecords, 'idsOf' | 'addReplay'>;
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
export async function queueReplay({ records, replayPerSecond }: ReplayParts, replay: Replay): Promise<number> {
  const ids = await records.idsOf(replay.webhookId, replay, maxDeliveries);
  const id = randomBytes(12).toString('hex');
  const nowMs = Date.now();
  // A document for each second.
  const partSize = replayPerSecond;
  const parts = Array.from({ length: Math.ceil(ids.length / partSize) }, (_unused, at) => ({
    _id: `${id}:${at}`,
    webhookId: replay.webhookId,
    deliveryIds: ids.slice(at * partSize, (at + 1) * partSize),
    dueAtMs: nowMs + at * 1_000,
  }));
  await records.addReplay(parts);
  return ids.length;
}
