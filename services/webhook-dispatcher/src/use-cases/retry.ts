import type { WebhookRepository } from '@fleet/storage';
import type { Sweep } from './sweep.ts';

/** What a delivery is tried again with. */
export interface RetryDeps {
  readonly records: Pick<WebhookRepository, 'find' | 'claimedUntilMs' | 'restart' | 'schedule'>;
  readonly sweep: Pick<Sweep, 'start'>;
}

/** Tries a delivery again from now on, with all attempts of a new one. */
export async function retryDelivery(
  { records, sweep }: RetryDeps,
  { webhookId, deliveryId }: { webhookId: number; deliveryId: string },
): Promise<'queued' | 'running' | 'unknown'> {
  const delivery = await records.find(deliveryId);
  if (delivery === null || delivery.webhookId !== webhookId) return 'unknown';
  if ((await records.claimedUntilMs(deliveryId)) > Date.now()) return 'running';
  const due = { _id: deliveryId, webhookId, dueAtMs: Date.now() };
  // Pending before it is due: a sweep that came upon it in between would find it finished, and take it off. What a crash leaves in between is mended.
  await records.restart(deliveryId, [delivery.status], 'retry', due.dueAtMs);
  await records.schedule(due);
  sweep.start(due);
  return 'queued';
}
