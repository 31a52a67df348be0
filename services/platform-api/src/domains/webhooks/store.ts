import { WebhookRecords } from '@fleet/storage';
import type { Deps } from '../../deps.ts';
import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Webhook } from './schema.ts';

export const webhooksOf = (records: Records): AccountRecords<Webhook> =>
  new AccountRecords<Webhook>(records, 'webhooks');

/** Deliveries and health, which webhook-dispatcher writes. */
export const webhookRecordsOf = ({ database }: Pick<Deps, 'database'>): WebhookRecords => new WebhookRecords(database);

/** Of whatever account. */
export const anyWebhook = (records: Records, id: number): Promise<Webhook | null> =>
  records.collection<Webhook>('webhooks').findOne({ _id: id });
