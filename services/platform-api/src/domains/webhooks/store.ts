import { WebhookRepository } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Webhook } from './schema.ts';

export const webhookCollection = (records: RecordStore): AccountRepository<Webhook> =>
  new AccountRepository<Webhook>(records, 'webhooks');

/** Returns the repository of deliveries and health, which webhook-dispatcher writes. */
export const webhookRepository = ({ database }: Pick<Deps, 'database'>): WebhookRepository =>
  new WebhookRepository(database);

/** Finds a webhook of any account. */
export const findWebhook = (records: RecordStore, id: number): Promise<Webhook | null> =>
  records.collection<Webhook>('webhooks').findOne({ _id: id });
