import { WebhookRepository } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Webhook } from './schema.ts';

export const webhooksOf = (records: RecordStore): AccountRepository<Webhook> =>
  new AccountRepository<Webhook>(records, 'webhooks');

/** Deliveries and health, which webhook-dispatcher writes. */
export const webhookRecordsOf = ({ database }: Pick<Deps, 'database'>): WebhookRepository =>
  new WebhookRepository(database);

/** Of whatever account. */
export const anyWebhook = (records: RecordStore, id: number): Promise<Webhook | null> =>
  records.collection<Webhook>('webhooks').findOne({ _id: id });
