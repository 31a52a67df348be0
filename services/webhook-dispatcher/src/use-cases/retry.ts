import type { DeliveryRepository, DeliverySchedule } from '@fleet/storage';
import type { Sweep } from './sweep.ts';

/** Dependencies of a retry. */
export interface RetryDeps {
  readonly records: {
    readonly deliveries: Pick<DeliveryRepository, 'find' | 'claimedUntilMs' | 'restart'>;
    readonly schedule: Pick<DeliverySchedule, 'set'>;
  };
  readonly sweep: Pick<Sweep, 'start'>;
}

/** Retries a delivery from now on, with all attempts of a new one. */
export async function retryDelivery(
  { records, sweep }: RetryDeps,
  { webhookId, deliveryId }: { webhookId: number; deliveryId: string },
): Promise<'queued' | 'running' | 'unknown'> {
  const delivery = await records.deliveries.find(deliveryId);
  if (delivery === null || delivery.webhookId !== webhookId) return 'unknown';
  if ((await records.deliveries.claimedUntilMs(deliveryId)) > Date.now()) return 'running';
  const due = { _id: deliveryId, webhookId, dueAtMs: Date.now() };
  // Pending before it is due: a poll in between would find an ended delivery and dequeue it. A periodic job repairs a
  // crash in between.
  await records.deliveries.restart(deliveryId, [delivery.status], 'retry', due.dueAtMs);
  await records.schedule.set(due);
  sweep.start(due);
  return 'queued';
}
