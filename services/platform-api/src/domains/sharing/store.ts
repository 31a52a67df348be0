import { AccountRecords, type NewAccountRecord, type Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Share } from './schema.ts';

const collectionName = 'shares';

export const sharesOf = (records: Records): AccountRecords<Share> =>
  new AccountRecords<Share>(records, collectionName, { unique: { pair: 'system' } });

const isLive = (now: Date) => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] });

/** What is shared with a user now, by whatever account: the one query that looks beyond the caller's own account. */
export const findSharedWith = (
  records: Records,
  userId: number,
  options: { vehicleId?: number; now: Date },
): Promise<Share[]> =>
  records
    .collection<Share>(collectionName)
    .find({
      secondaryUserId: userId,
      ...(options.vehicleId === undefined ? {} : { vehicleId: options.vehicleId }),
      ...isLive(options.now),
    })
    .toArray();

/** The live shares of an account's vehicles, in the order in which they were made. */
export const findSharedBy = async (
  records: Records,
  scope: Scope,
  where: { secondaryUserId?: number; vehicleId?: number },
  now: Date,
): Promise<Share[]> => (await sharesOf(records).all(scope, { ...where, ...isLive(now) })).sort((a, b) => a._id - b._id);

/** Shares a vehicle, or replaces the permissions and the expiry of the share that is there. */
export async function putShare(records: Records, scope: Scope, share: NewAccountRecord<Share>): Promise<Share> {
  const shares = sharesOf(records);
  const known = await records.findByUnique<Share>(collectionName, 'pair', share.pair);
  if (known === null) return shares.insert(scope, share);
  // A vehicle that changed hands leaves no share of the account before.
  if (known.accountId !== scope.accountId) {
    await shares.remove({ accountId: known.accountId }, known._id);
    return shares.insert(scope, share);
  }
  return (await shares.update(scope, known._id, share)) ?? shares.insert(scope, share);
}

export const removeShare = (records: Records, scope: Scope, id: number): Promise<Share | null> =>
  sharesOf(records).remove(scope, id);
