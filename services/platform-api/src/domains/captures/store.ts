import { AppError } from '@fleet/service-kit';
import type { Collection } from '@fleet/storage';
import { AccountRepository } from '../../store/account-repository.ts';
import { isVersionConflict, retryOnConflict } from '../../store/optimistic-retry.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { Capture } from './schema.ts';

const collectionName = 'captures';

export const captureCollection = (records: RecordStore): AccountRepository<Capture> =>
  new AccountRepository<Capture>(records, collectionName, { unique: { captureId: 'system' } });

const capturesOfAllAccounts = (records: RecordStore): Collection<Capture> =>
  records.collection<Capture>(collectionName);

/** Returns a capture of any account; the caller checks whether it is visible. */
export const findCapture = (records: RecordStore, captureId: string): Promise<Capture | null> =>
  records.findByUnique<Capture>(collectionName, 'captureId', captureId);

/** Fields that change during a capture. */
export type CaptureChange = Partial<
  Pick<
    Capture,
    'status' | 'method' | 'step' | 'multimediaIds' | 'files' | 'errorCode' | 'error' | 'completedAt' | 'leasedUntil'
  >
>;

/**
 * Changes the current state of a capture, once. `decide` returns null to leave it as it is; it is called again if the
 * capture was changed concurrently. Returns the capture afterwards.
 */
export const changeCapture = (
  records: RecordStore,
  { captureId }: Pick<Capture, 'captureId'>,
  decide: (current: Capture) => CaptureChange | null,
): Promise<Capture> =>
  retryOnConflict(async () => {
    const current = await findCapture(records, captureId);
    if (current === null) throw captureNotFoundError(captureId);
    const change = decide(current);
    if (change === null) return current;
    const changed = await captureCollection(records).update(current, current._id, change, current.version);
    if (changed === null) throw captureNotFoundError(captureId);
    return changed;
  }, isVersionConflict);

/** Returns the newest captures of a vehicle's channel since a time, the oldest first. */
export async function listRecentCaptures(
  records: RecordStore,
  { accountId, _id: vehicleId }: Pick<Vehicle, 'accountId' | '_id'>,
  { channelId, since, limit }: { readonly channelId: number; readonly since: Date; readonly limit: number },
): Promise<Capture[]> {
  const filter: object = { vehicleId, channelId, accountId, requestedAt: { $gte: since } };
  const found = await capturesOfAllAccounts(records).find(filter).sort({ _id: -1 }).limit(limit).toArray();
  return found.toReversed();
}

/** Extends the claim of a process on a pending capture. Does nothing if another process has taken it over. */
export async function renewClaim(
  records: RecordStore,
  { captureId, claimToken }: Pick<Capture, 'captureId' | 'claimToken'>,
  leasedUntil: Date,
): Promise<void> {
  // Not a change of the record: its version and its time of change remain. A capture of which only the files are missing is not
  // claimed.
  const claimed: object = { captureId, claimToken, status: 'pending', step: { $ne: 'arriving' } };
  await capturesOfAllAccounts(records).updateOne(claimed, { $set: { leasedUntil } });
}

/** Claims a pending capture whose process has died. Returns null if another process was faster. */
export async function takeOverCapture(
  records: RecordStore,
  { captureId }: Pick<Capture, 'captureId'>,
  { claimToken, leasedUntil, now }: Pick<Capture, 'claimToken' | 'leasedUntil'> & { readonly now: Date },
): Promise<Capture | null> {
  const unclaimed: object = { captureId, status: 'pending', leasedUntil: { $lt: now } };
  const change: object = { $set: { claimToken, leasedUntil } };
  return capturesOfAllAccounts(records).findOneAndUpdate(unclaimed, change, { returnDocument: 'after' });
}

/** Returns pending captures whose process has died, or whose time is over. */
export const listOverdueCaptures = (records: RecordStore, now: Date, limit: number): Promise<Capture[]> =>
  capturesOfAllAccounts(records)
    .find({ status: 'pending', leasedUntil: { $lt: now } } as object)
    .limit(limit)
    .toArray();

export const captureNotFoundError = (captureId: string): AppError =>
  new AppError('not_found', `There is no capture ${captureId}.`);
