import type { Database } from '@fleet/storage';
import type { UniqueValue } from './record-store.ts';

/**
 * Treatment of an account's documents in a collection after the account is deleted.
 * - `at once`: removed immediately, because they have effects of their own or hold numbers that others may need.
 * - `in time`: removed together with personal fields.
 * - an object: retained without these fields.
 * - `with files`: removed in time too, by the code that removes their files first.
 * - `stays`: retained, because they contain no personal data.
 */
type RetentionPolicy =
  | 'at once'
  | 'in time'
  | 'with files'
  | 'stays'
  | { readonly without: Readonly<Record<string, unknown>> };

/** Every collection whose documents belong to accounts, as in `indexes.ts`. A test detects missing collections. */
export const accountRetention: Readonly<Record<string, RetentionPolicy>> = {
  users: 'in time',
  sessions: 'in time',
  api_keys: 'in time',
  reset_tokens: 'at once',
  mails: 'at once',
  audit_log: { without: { ip: null, detail: {} } },
  vehicles: 'at once',
  // Needed until all activity of the vehicles has ended.
  vehicle_endings: 'in time',
  drivers: 'in time',
  former_drivers: 'in time',
  vehicle_groups: 'in time',
  geofences: 'in time',
  // The areas of the account's terminals are deleted before that.
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
  // Payments are retained for accounting: amounts, plans and ids.
  orders: 'stays',
  subscriptions: 'stays',
  captures: 'in time',
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
  data_usage: 'in time',
  data_budget_notices: 'in time',
};

/** Collections that belong to no account. Documents of devices and webhooks are removed with their owner. */
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
  'terminal_tenures',
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

/**
 * Removes an account's documents that are due, with their unique values. Idempotent, so that it can continue after a
 * crash.
 */
export async function removeAccountData(
  database: Database,
  accountId: number,
  when: 'at once' | 'in time',
): Promise<void> {
  for (const [name, policy] of Object.entries(accountRetention)) {
    // Also removes documents that requests still created after the deletion.
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

/**
 * Removes unique values, which are e-mail addresses, phone and vehicle numbers. Runs before the records are removed,
 * because it finds the values by them.
 */
export async function removeUniqueValues(
  database: Database,
  name: string,
  recordIds: readonly number[],
): Promise<void> {
  const filter = { _id: { $regex: `^${name}\\.` }, recordId: { $in: [...recordIds] } };
  await database.collection<UniqueValue>('unique_values').deleteMany(filter);
}
