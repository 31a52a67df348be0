import { randomBytes } from 'node:crypto';
import type { DeliveryRepository, ReplayQueue } from '@fleet/storage';

/** Dependencies of a replay. */
export interface ReplayDeps {
  readonly records: {
    readonly deliveries: Pick<DeliveryRepository, 'findIds'>;
    readonly replays: Pick<ReplayQueue, 'insert'>;
  };
  readonly replayPerSecond: number;
}

/** Filter of a replay. */
interface Replay {
  readonly webhookId: number;
  readonly sinceMs: number;
  readonly untilMs: number | null;
  readonly statuses: readonly ('failed' | 'skipped')[];
}

/** Largest number of deliveries in one replay. */
const maxDeliveries = 10_000;

/**
 * Requeues deliveries of a time span, oldest first, at a fixed rate; returns their number. They are stored before the
 * response, so that a crash loses none.
 */
export async function queueReplay({ records, replayPerSecond }: ReplayDeps, replay: Replay): Promise<number> {
  const ids = await records.deliveries.findIds(replay.webhookId, replay, maxDeliveries);
  const id = randomBytes(12).toString('hex');
  const nowMs = Date.now();
  // One document for each second.
  const batchSize = replayPerSecond;
  const batches = Array.from({ length: Math.ceil(ids.length / batchSize) }, (_unused, batchIndex) => ({
    _id: `${id}:${batchIndex}`,
    webhookId: replay.webhookId,
    deliveryIds: ids.slice(batchIndex * batchSize, (batchIndex + 1) * batchSize),
    dueAtMs: nowMs + batchIndex * 1_000,
  }));
  await records.replays.insert(batches);
  return ids.length;
}
