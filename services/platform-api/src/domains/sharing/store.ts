import { AppError } from '@fleet/service-kit';
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

/** Two requests that share at once need two; more are a value that a crash has left. */
const maxAttempts = 5;

/** Shares a vehicle, or replaces the permissions and the expiry of the share that is there. */
export async function putShare(records: Records, scope: Scope, share: NewAccountRecord<Share>): Promise<Share> {
  const shares = sharesOf(records);
  for (let attempt = 1; ; attempt += 1) {
    const known = await records.findByUnique<Share>(collectionName, 'pair', share.pair);
    // A vehicle that changed hands leaves no share of the account before.
    if (known !== null && known.accountId !== scope.accountId) await shares.remove(known, known._id);
    else if (known !== null) {
      const changed = await shares.update(scope, known._id, share);
      if (changed !== null) return changed;
    }
    try {
      return await shares.insert(scope, share);
    } catch (error) {
      if (!(error instanceof AppError && error.code === 'duplicate') || attempt === maxAttempts) throw error;
    }
  }
}

export const removeShare = (records: Records, scope: Scope, id: number): Promise<Share | null> =>
  sharesOf(records).remove(scope, id);

/** Shares of all accounts that have ended by themselves, some at a time. */
export const findEnded = (records: Records, now: Date): Promise<Share[]> =>
  records
    .collection<Share>(collectionName)
    .find({ expiresAt: { $ne: null, $lte: now } })
    .limit(1_000)
    .toArray();
