import type { Database } from '@fleet/storage';
import type { UniqueValue } from './record-store.ts';

/**
 * What becomes of an account's documents in a collection when the account is deleted. `at once`: removed, as they act by themselves or hold numbers that others
 * may want; `in time`: removed when personal fields are; an object: they stay without these fields; `with files`: removed in
 * time too, by what removes their files first; `stays`: there is nothing personal in them.
 */
export type RetentionPolicy =
  | 'at once'
  | 'in time'
  | 'with files'
  | 'stays'
  | { readonly without: Readonly<Record<string, unknown>> };

/** Every collection whose documents belong to accounts, a line for each as in `indexes.ts`; a test finds what is missing here. */
export const accountRetention: Readonly<Record<string, RetentionPolicy>> = {
  users: 'in time',
  sessions: 'in time',
  api_keys: 'in time',
  reset_tokens: 'at once',
  mails: 'at once',
  audit_log: { without: { ip: null, detail: {} } },
  vehicles: 'at once',
  // Until all that went on with them has ended.
  vehicle_endings: 'in time',
  drivers: 'in time',
  former_drivers: 'in time',
  vehicle_groups: 'in time',
  geofences: 'in time',
  // Terminals of an account that is deleted forget its areas before that.
  geofence_terminals: 'in time',
  routes: 'in time',
  shares: 'at once',
  share_links: 'in time',
  position_buckets: 'in time',
  position_days: 'in time',
  notifications: 'in time',
  notification_preferences: 'at once',
  push_tokens: 'at once',
  attachment_requests: 'at once',
  user_preferences: 'at once',
  global_config: 'in time',
  webhooks: 'at once',
  webhook_deliveries: 'in time',
  cached_addresses: 'in time',
  // What was paid is kept for the books: amounts, plans and ids.
  orders: 'stays',
  subscriptions: 'stays',
  commands: 'in time',
  mining_devices: 'at once',
  partner_positions: 'in time',
  partner_heartbeats: 'in time',
  partners: 'at once',
  support_tickets: 'in time',
  chat_messages: 'in time',
  documents: 'in time',
  document_files: 'in time',
  erasures: 'in time',
  uploads: 'with files',
  media: 'with files',
  media_removals: 'with files',
  media_usage: 'in time',
};

/** Collections that belong to no account; those of devices and webhooks go by what they belong to. */
export const sharedCollections: readonly string[] = [
  'accounts',
  'audit_told',
  'billing_customers',
  'command_leases',
  'command_queue_leases',
  'counters',
  'idempotency_keys',
  'leases',
  'loaded_files',
  'log_in_failures',
  'migrations',
  'notification_send_counts',
  'notification_sends',
  'notification_times',
  'one_time_codes',
  'partner_devices',
  'payment_events',
  'signing_keys',
  'sweeps',
  'telemetry_leases',
  'telemetry_places',
  'toll_gates',
  'unassigned_devices',
  'unique_values',
  'upload_locks',
  'webhook_claims',
  'webhook_due',
  'webhook_health',
  'webhook_replays',
];

interface Owned {
  readonly _id: number;
  readonly accountId: number;
}

const batchSize = 500;

/** Removes an account's documents whose time has come, with the unique values that they hold. It may run again where it stopped. */
export async function removeAccountData(
  database: Database,
  accountId: number,
  when: 'at once' | 'in time',
): Promise<void> {
  for (const [name, policy] of Object.entries(accountRetention)) {
    // What a request that was under way has made after the end goes with the rest.
    if (policy === when || policy === 'at once') await removeAll(database, name, accountId);
    if (when === 'in time' && typeof policy === 'object')
      await database.collection<Owned>(name).updateMany({ accountId }, { $set: policy.without as object });
  }
}

async function removeAll(database: Database, name: string, accountId: number): Promise<void> {
  const collection = database.collection<Owned>(name);
  for (;;) {
    const found = await collection
      .find({ accountId }, { projection: { _id: 1 } })
      .limit(batchSize)
      .toArray();
    if (found.length === 0) return;
    const ids = found.map(({ _id }) => _id);
    await removeUniqueValues(database, name, ids);
    await collection.deleteMany({ _id: { $in: ids }, accountId });
  }
}

/** Unique values are e-mails, phone and vehicle numbers: they go before the records by which they are found. */
export async function removeUniqueValues(
  database: Database,
  name: string,
  recordIds: readonly number[],
): Promise<void> {
  const filter = { _id: { $regex: `^${name}\\.` }, recordId: { $in: [...recordIds] } };
  await database.collection<UniqueValue>('unique_values').deleteMany(filter);
}
