import type { Deps } from '../../deps.ts';
import { writeGently } from '../../store/gentle-writes.ts';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { claimOf } from './record.ts';
import type { Notification } from './schema.ts';

const dayMs = 24 * 3_600_000;
/** Critical ones are kept for three years, or as long as the account keeps the others (platform-contract.md, section 26). */
const criticalDays = 3 * 365;
const atOnce = 1_000;

/** Removes notifications of all accounts that are old enough, with the claims of their keys; the number of removed ones. */
export async function removeOldNotifications(
  { records, config }: Pick<Deps, 'records' | 'config'>,
  nowMs = Date.now(),
): Promise<number> {
  const accounts = await records
    .collection<Account>('accounts')
    .find({}, { projection: { _id: 1 } })
    .toArray();
  let removed = 0;
  for (const { _id: accountId } of accounts) {
    const { notifications_days: days } = (await accountConfig({ records, config }, { accountId })).retention;
    const before = (kept: number): Date => new Date(nowMs - kept * dayMs);
    removed += await removeWhere(records, {
      accountId,
      createdAt: { $lt: before(days) },
      severity: { $ne: 'critical' },
    });
    removed += await removeWhere(records, { accountId, createdAt: { $lt: before(Math.max(days, criticalDays)) } });
  }
  return removed;
}

async function removeWhere(records: Deps['records'], where: object): Promise<number> {
  const notifications = records.collection<Notification>('notifications');
  for (let removed = 0; ; ) {
    const found = await notifications
      .find(where, { projection: { dedupeKey: 1 } })
      .limit(atOnce)
      .toArray();
    if (found.length === 0) return removed;
    // The records go first: a claim without a record is completed by whoever raises it again, and a record without a claim would be doubled.
    const removals = found.map(({ _id }) => ({ deleteOne: { filter: { _id } } }));
    await writeGently(records.database, notifications, removals, () => false);
    const claims = found.map(({ dedupeKey }) => ({ deleteOne: { filter: { _id: claimOf(dedupeKey) } } }));
    await writeGently(records.database, records.uniqueValues, claims, () => false);
    removed += found.length;
  }
}
