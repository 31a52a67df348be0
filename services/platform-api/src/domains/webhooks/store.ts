import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Webhook } from './schema.ts';

export const webhooksOf = (records: Records): AccountRecords<Webhook> =>
  new AccountRecords<Webhook>(records, 'webhooks');
