import type { WebhookRecords } from '@fleet/storage';
import type { Lanes } from '../net/lane.ts';
import type { Sweep } from './sweep.ts';

/** What a delivery is tried again with. */
export interface RetryParts {
  readonly records: WebhookRecords;
  readonly lanes: Lanes;
  readonly sweep: Sweep;
}

/** Tries a delivery again from now on, with all attempts of a new one. */
export async function retryDelivery(
  { records, lanes, sweep }: RetryParts,
  { webhookId, deliveryId }: { webhookId: number; deliveryId: string },
): Promise<'queued' | 'running' | 'unknown'> {
  const delivery = await records.find(deliveryId);
  if (delivery === null || delivery.webhookId !== webhookId) return 'unknown';
  const nowMs = Date.now();
  if (delivery.status === 'pending' && delivery.runningUntilMs > nowMs) return 'running';
  await records.schedule({ _id: deliveryId, webhookId, dueAtMs: nowMs });
  await records.renew(deliveryId, [delivery.status], 'retry', nowMs);
  // Where no slot is free, the sweep comes back to it.
  await sweep.drain(lanes.of(webhookId));
  return 'queued';
}
