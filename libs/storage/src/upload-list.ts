import type { Filter } from 'mongodb';
import { allocateId } from './allocate-ids.ts';
import { type Collection, type Database, isDuplicateKey } from './mongo.ts';
import { clipKey, type UploadRecord, type UploadStatus } from './upload-record.ts';

/** Collection of uploads, and name of their counter. */
export const uploadCollection = 'uploads';

/** An upload in a list: it has an integer id, and is not a reservation. */
export type ListedUpload = UploadRecord & { readonly number: number; readonly status: UploadStatus };

/** An upload that was requested while its terminal belonged to no account. */
export type UnownedUpload = Pick<UploadRecord, '_id' | 'clip'>;

/** Uploads of vehicles: all of an account, or those of single vehicles. */
export interface UploadScope {
  /** The account that requested the uploads; any account if absent. */
  readonly accountId?: number;
  readonly vehicleIds?: readonly number[];
}

/** Conditions of a list. */
interface UploadCondition {
  readonly status?: UploadStatus | undefined;
  readonly vehicleId?: number | undefined;
  readonly fromMs?: number | undefined;
  readonly toMs?: number | undefined;
}

/** Order and part of a list. */
interface UploadPaging {
  readonly direction: 1 | -1;
  readonly offset: number;
  readonly limit: number;
}

/** Lists uploads by vehicle, in the order of their requests. */
export class UploadList {
  readonly #uploads: Collection<UploadRecord>;
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
    this.#uploads = database.collection<UploadRecord>(uploadCollection);
  }

  /**
   * Returns a page of uploads. The scopes must have no upload in common: each is read through its own index, because a
   * disjunction has none.
   */
  async listPage(
    scopes: readonly UploadScope[],
    condition: UploadCondition,
    { direction, offset, limit }: UploadPaging,
  ): Promise<{ readonly items: ListedUpload[]; readonly total: number }> {
    const filters = scopes.map((scope) => toFilter(scope, condition));
    const counts = await Promise.all(filters.map((filter) => this.#uploads.countDocuments(filter)));
    const total = counts.reduce((sum, count) => sum + count, 0);
    const isMerged = filters.length > 1;
    const found = await Promise.all(
      filters.map((filter) =>
        this.#uploads
          .find(filter)
          .sort({ number: direction })
          .skip(isMerged ? 0 : offset)
          .limit(isMerged ? offset + limit : limit)
          .toArray(),
      ),
    );
    const items = (found.flat() as ListedUpload[]).toSorted((a, b) => direction * (a.number - b.number));
    return { items: isMerged ? items.slice(offset, offset + limit) : items, total };
  }

  /** Returns an upload unless it is a reservation or belongs to no vehicle. */
  async findListed(id: string): Promise<ListedUpload | null> {
    const filter: Filter<UploadRecord> = { _id: id, status: { $ne: 'reserved' }, number: { $gt: 0 } };
    return (await this.#uploads.findOne(filter)) as ListedUpload | null;
  }

  /** Removes the uploads of a deleted vehicle from lists. Their files stay for their retention. */
  async detachVehicle(accountId: number, vehicleId: number): Promise<void> {
    await this.#uploads.updateMany({ accountId, vehicleId }, { $set: { vehicleId: null } });
  }

  /** Returns the uploads of a terminal that belong to no account. */
  async listUnowned(imei: string): Promise<UnownedUpload[]> {
    const filter: Filter<UploadRecord> = { 'clip.imei': imei, accountId: null, number: { $gt: 0 } };
    return this.#uploads.find(filter, { projection: { clip: 1 } }).toArray();
  }

  /** Returns the terminals of uploads that belong to no account. */
  listUnownedTerminals(): Promise<string[]> {
    return this.#uploads.distinct('clip.imei', { accountId: null, number: { $gt: 0 } } as Filter<UploadRecord>);
  }

  /** Assigns an upload without an account to an account, and to a vehicle of it. Returns null if it has an account. */
  async adopt({ _id, clip }: UnownedUpload, accountId: number, vehicleId: number | null): Promise<UploadRecord | null> {
    const update = { $set: { accountId, vehicleId, clipKey: clipKey(clip, accountId) }, $inc: { revision: 1 } };
    try {
      const filter: Filter<UploadRecord> = { _id, accountId: null };
      return await this.#uploads.findOneAndUpdate(filter, update, { returnDocument: 'after' });
    } catch (error) {
      // The account has requested the same clip itself.
      if (isDuplicateKey(error)) return null;
      throw error;
    }
  }

  /** Adds uploads of earlier releases to lists. `findVehicleId` returns the vehicle of a terminal in an account. */
  async addUnlisted(findVehicleId: (accountId: number, imei: string) => Promise<number | null>): Promise<void> {
    const unlisted: Filter<UploadRecord> = { number: { $exists: false } };
    for await (const { _id, accountId = null, clip } of this.#uploads.find(unlisted).sort({ createdAtMs: 1 })) {
      const number = await allocateId(this.#database, uploadCollection);
      const vehicleId = accountId === null ? null : await findVehicleId(accountId, clip.imei);
      await this.#uploads.updateOne({ _id, ...unlisted }, { $set: { number, vehicleId } });
    }
  }
}

function toFilter(
  { accountId, vehicleIds }: UploadScope,
  { status, vehicleId, fromMs, toMs }: UploadCondition,
): Filter<UploadRecord> {
  const between = { ...(fromMs === undefined ? {} : { $gte: fromMs }), ...(toMs === undefined ? {} : { $lt: toMs }) };
  const hasVehicle = { vehicleId: vehicleId ?? { $gt: 0 } };
  return {
    ...(accountId === undefined ? {} : { accountId }),
    ...(vehicleIds === undefined ? hasVehicle : { $and: [{ vehicleId: { $in: [...vehicleIds] } }, hasVehicle] }),
    number: { $gt: 0 },
    status: status ?? { $ne: 'reserved' },
    ...(fromMs === undefined && toMs === undefined ? {} : { createdAtMs: between }),
  };
}
