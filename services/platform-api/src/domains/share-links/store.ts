import { AccountRepository, type Filter, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { ShareLink } from './schema.ts';

const collectionName = 'share_links';

export const shareLinkCollection = (records: RecordStore): AccountRepository<ShareLink> =>
  new AccountRepository<ShareLink>(records, collectionName, { unique: { slug: 'system' } });

export const liveFilter = (now: Date): Filter => ({ revokedAt: null, isUsedUp: false, expiresAt: { $gt: now } });

export const endedFilter = (now: Date): Filter => ({
  $or: [{ revokedAt: { $ne: null } }, { isUsedUp: true }, { expiresAt: { $lte: now } }],
});

/** Finds the link with a slug, in any account: the slug grants the access. */
export const findLinkBySlug = (records: RecordStore, slug: string): Promise<ShareLink | null> =>
  records.findByUnique<ShareLink>(collectionName, 'slug', slug);

/** Returns a link of any account: the token of a guest names it. */
export const findLinkById = (records: RecordStore, id: number): Promise<ShareLink | null> =>
  records.collection<ShareLink>(collectionName).findOne({ _id: id });

/**
 * Returns those of the links, of any account, that have not ended. Clients that have already opened a link can still
 * use it after its view limit is reached.
 */
export const findLiveIds = async (records: RecordStore, ids: readonly number[], now: Date): Promise<Set<number>> => {
  const filter: object = { _id: { $in: [...ids] }, revokedAt: null, expiresAt: { $gt: now } };
  const found = await records
    .collection<ShareLink>(collectionName)
    .find(filter, { projection: { _id: 1 } })
    .toArray();
  return new Set(found.map(({ _id }) => _id));
};

/**
 * Counts a view. Returns null if the link has ended concurrently, for example by other views. The version of the record
 * does not change.
 */
export async function countView(records: RecordStore, link: ShareLink, now: Date): Promise<ShareLink | null> {
  const collection = records.collection<ShareLink>(collectionName);
  const filter: object = {
    _id: link._id,
    ...liveFilter(now),
    ...(link.maxViews === null ? {} : { viewCount: { $lt: link.maxViews } }),
  };
  const update: object = { $inc: { viewCount: 1 }, $set: { lastViewedAt: now } };
  const counted = await collection.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  if (counted !== null && counted.maxViews !== null && counted.viewCount >= counted.maxViews)
    await collection.updateOne({ _id: link._id }, { $set: { isUsedUp: true } });
  return counted;
}

/** Revokes all live links of a vehicle, of a user, or of the account. */
export const revokeLinks = (
  records: RecordStore,
  scope: Scope,
  of: { readonly vehicleId?: number; readonly userId?: number },
  now: Date,
): Promise<number> =>
  shareLinkCollection(records).updateMany(scope, { ...of, revokedAt: null }, { $set: { revokedAt: now } });
