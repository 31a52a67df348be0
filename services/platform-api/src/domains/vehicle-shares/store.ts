import { AccountRepository, type NewAccountRecord, type Scope } from '../../store/account-repository.ts';
import { isDuplicateError, retryOnConflict } from '../../store/optimistic-retry.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Share } from './schema.ts';

const collectionName = 'shares';

const sharesOf = (records: RecordStore): AccountRepository<Share> =>
  new AccountRepository<Share>(records, collectionName, { unique: { pair: 'system' } });

/**
 * Timeout for a reserved pair without a share. A pair that is reserved for longer belongs to a failed request, and the
 * remaining vehicles of the request wait for this one.
 */
const waitTimeoutMs = 3_000;

const isLive = (now: Date) => ({ $or: [{ expiresAt: null }, { expiresAt: { $gt: now } }] });

/** Returns the current shares with a user, of all accounts. No other query crosses the caller's own account. */
export const findSharedWith = (
  records: RecordStore,
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

/** Returns the live shares of an account's vehicles, in the order of their creation. */
export const findSharedBy = async (
  records: RecordStore,
  scope: Scope,
  where: { secondaryUserId?: number; vehicleId?: number },
  now: Date,
): Promise<Share[]> => (await sharesOf(records).all(scope, { ...where, ...isLive(now) })).sort((a, b) => a._id - b._id);

/** Shares a vehicle, or replaces the permissions and the expiry of an existing share. */
export function putShare(records: RecordStore, scope: Scope, share: NewAccountRecord<Share>): Promise<Share> {
  const shares = sharesOf(records);
  const put = async (): Promise<Share> => {
    const known = await records.findByUnique<Share>(collectionName, 'pair', share.pair);
    // A vehicle that changed hands retains no share of the previous account.
    if (known !== null && known.accountId !== scope.accountId) await shares.remove(known, known._id);
    else if (known !== null) {
      const changed = await shares.update(scope, known._id, share);
      if (changed !== null) return changed;
    }
    return shares.insert(scope, share);
  };
  // A concurrent request has reserved the pair, but its share does not exist yet.
  return retryOnConflict(put, isDuplicateError, waitTimeoutMs);
}

export const removeShare = (records: RecordStore, scope: Scope, id: number): Promise<Share | null> =>
  sharesOf(records).remove(scope, id);

/** Returns a batch of expired shares of all accounts. */
export const findEnded = (records: RecordStore, now: Date): Promise<Share[]> =>
  records
    .collection<Share>(collectionName)
    .find({ expiresAt: { $ne: null, $lte: now } })
    .limit(1_000)
    .toArray();
