import { dayMs } from '@fleet/service-kit';
import type { JobSlice } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { deleteInBatches, writeThrottled } from '../../store/throttled-writes.ts';
import type { Account } from '../accounts/schema.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { dedupeId } from './insert-notifications.ts';
import type { Notification } from './schema.ts';

/**
 * Critical notifications are retained for three years, or as long as the account retains the others
 * (docs/reference/operations.md).
 */
const criticalDays = 3 * 365;
const atOnce = 1_000;

/**
 * Removes expired notifications of all accounts, with the claims of their keys. Returns the account to continue with,
 * or null when done.
 */
export async function removeOldNotifications(
  { records, config }: Pick<Deps, 'records' | 'config'>,
  { from, isOver }: JobSlice,
  nowMs = Date.now(),
): Promise<number | null> {
  const accounts = await records
    .collection<Account>('accounts')
    .find({ _id: { $gte: from } }, { projection: { _id: 1 } })
    .sort({ _id: 1 })
    .toArray();
  const notifications = records.collection<Notification>('notifications');
  for (const { _id: accountId } of accounts) {
    const { notifications_days: days } = (await accountConfig({ records, config }, { accountId })).retention;
    const before = (kept: number): Date => new Date(nowMs - kept * dayMs);
    const old = [
      { accountId, createdAt: { $lt: before(days) }, severity: { $ne: 'critical' } },
      { accountId, createdAt: { $lt: before(Math.max(days, criticalDays)) } },
    ] as const;
    for (const where of old) {
      const find = () =>
        notifications
          .find(where, { projection: { dedupeKey: 1 } })
          .limit(atOnce)
          .toArray();
      if (!(await removeFound(records, find, isOver))) return accountId;
    }
    if (isOver()) return accountId + 1;
  }
  return null;
}

function removeFound(
  records: Deps['records'],
  find: () => Promise<Pick<Notification, '_id' | 'dedupeKey'>[]>,
  isOver: () => boolean,
): Promise<boolean> {
  const notifications = records.collection<Notification>('notifications');
  // The records are removed first. A claim without a record is completed when the notification is raised again, but a
  // record without a claim would be duplicated.
  const remove = async (some: readonly Pick<Notification, '_id' | 'dedupeKey'>[]): Promise<void> => {
    const removals = some.map(({ _id }) => ({ deleteOne: { filter: { _id } } }));
    await writeThrottled(records.database, notifications, removals, () => false);
    const claims = some.map(({ dedupeKey }) => ({ deleteOne: { filter: { _id: dedupeId(dedupeKey) } } }));
    await writeThrottled(records.database, records.uniqueValues, claims, () => false);
  };
  return deleteInBatches(find, remove, isOver);
}
