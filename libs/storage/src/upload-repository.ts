import type { Filter, UpdateFilter } from 'mongodb';
import { allocateId } from './allocate-ids.ts';
import { type Collection, type Database, dropIndexIfExists, isDuplicateKey } from './mongo.ts';
import { uploadCollection } from './upload-list.ts';
import type { UploadRecord, UploadStatus } from './upload-record.ts';

/** The upload that holds a camera: a document of `upload_locks`; `_id` is the canonical terminal number. */
interface UploadLock {
  readonly _id: string;
  readonly uploadId: string;
  /** End of the lock while the upload is `reserved`. */
  readonly reservedUntilMs: number;
}

/**
 * Stores clip uploads. Every change is a compare-and-set on one document, without transactions, so that every MongoDB
 * behaves the same.
 */
export class UploadRepository {
  readonly #database: Database;
  readonly #uploads: Collection<UploadRecord>;
  readonly #locks: Collection<UploadLock>;
  #indexes: Promise<unknown> | undefined;

  constructor(database: Database) {
    this.#database = database;
    this.#uploads = database.collection<UploadRecord>(uploadCollection);
    this.#locks = database.collection<UploadLock>('upload_locks');
  }

  /**
   * Creates the indexes; the unique one must exist before the first reservation. The next call retries after a failure.
   */
  async ensureIndexes(): Promise<void> {
    this.#indexes ??= this.#createIndexes();
    try {
      await this.#indexes;
    } catch (error) {
      this.#indexes = undefined;
      throw error;
    }
  }

  /** Stores a reservation; returns false if the clip has a record. */
  async reserve(record: UploadRecord): Promise<boolean> {
    await this.ensureIndexes();
    const number = await allocateId(this.#database, uploadCollection);
    try {
      await this.#uploads.insertOne({ ...record, number });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  find(id: string): Promise<UploadRecord | null> {
    return this.#uploads.findOne({ _id: id });
  }

  findByClip(key: string): Promise<UploadRecord | null> {
    return this.#uploads.findOne({ clipKey: key });
  }

  /** Returns every upload of a device except reservations, newest first. */
  listByDevice(imei: string, channel?: number): Promise<UploadRecord[]> {
    const filter: Filter<UploadRecord> = { 'clip.imei': imei, status: { $ne: 'reserved' } };
    if (channel !== undefined) filter['clip.channel'] = channel;
    return this.#uploads.find(filter).sort({ createdAtMs: -1 }).toArray();
  }

  /** Returns uploads of an account in any status, including reservations, by id after `afterId`. */
  listByAccount(accountId: number, limit: number, afterId = ''): Promise<UploadRecord[]> {
    return this.#uploads
      .find({ accountId, _id: { $gt: afterId } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  /** Returns the newest reservation of a device whose camera may still respond, or null. */
  findReservation(imei: string): Promise<UploadRecord | null> {
    return this.#uploads.findOne(
      { 'clip.imei': imei, status: 'reserved', reservedUntilMs: { $gt: Date.now() } },
      { sort: { createdAtMs: -1 } },
    );
  }

  /** Returns the statuses of the uploads that have a record. */
  async findStatuses(ids: readonly string[]): Promise<Map<string, UploadRecord['status']>> {
    const found = await this.#uploads.find({ _id: { $in: [...ids] } }).toArray();
    return new Map(found.map(({ _id, status }) => [_id, status]));
  }

  /** Returns uploads in any of the statuses, oldest change first. */
  listByStatus(statuses: readonly UploadRecord['status'][], limit: number): Promise<UploadRecord[]> {
    return this.#uploads
      .find({ status: { $in: [...statuses] } })
      .sort({ changedAtMs: 1 })
      .limit(limit)
      .toArray();
  }

  /** Changes the status if it is one of `from`. Returns the changed record, or null if another caller was first. */
  transition(
    id: string,
    from: readonly UploadRecord['status'][],
    to: UploadStatus,
    set: Partial<UploadRecord> = {},
  ): Promise<UploadRecord | null> {
    return this.#update({ _id: id, status: { $in: [...from] } }, { ...set, status: to, changedAtMs: Date.now() });
  }

  /** Sets fields without a status change if the status is one of `from`; returns null otherwise. */
  set(
    id: string,
    from: readonly UploadRecord['status'][],
    fields: Partial<UploadRecord>,
  ): Promise<UploadRecord | null> {
    return this.#update({ _id: id, status: { $in: [...from] } }, fields);
  }

  /**
   * Changes a record only if status, files, bytes and transfers are unchanged since it was read. Returns null
   * otherwise; the caller evaluates the files again. `to` is a new status.
   */
  async finalize(
    expected: UploadRecord,
    fields: Partial<UploadRecord>,
    to?: UploadStatus,
  ): Promise<UploadRecord | null> {
    const { _id, status, changedAtMs, files, lastByteAtMs } = expected;
    const change = to === undefined ? fields : { ...fields, status: to, changedAtMs: Date.now() };
    return this.#update({ _id, status, changedAtMs, files: { $eq: files }, lastByteAtMs }, change);
  }

  /** Returns uploads in any of the statuses whose files one upload-ftp pod stores. */
  listByPod(podId: string, statuses: readonly UploadRecord['status'][]): Promise<UploadRecord[]> {
    return this.#uploads.find({ 'server.podId': podId, status: { $in: [...statuses] } }).toArray();
  }

  /**
   * Acquires the right to send a command about an upload. Returns null if another command is pending or the status
   * differs.
   */
  beginControl(id: string, status: UploadStatus, token: string, untilMs: number): Promise<UploadRecord | null> {
    return this.#update(
      { _id: id, status, $or: [{ control: null }, { 'control.untilMs': { $lt: Date.now() } }] },
      { control: { token, untilMs } },
      false,
    );
  }

  async endControl(id: string, token: string): Promise<void> {
    await this.#uploads.updateOne({ _id: id, 'control.token': token }, { $set: { control: null } });
  }

  /** Deletes a record if its status is one of `from`; returns false otherwise. */
  async remove(id: string, from: readonly UploadRecord['status'][]): Promise<boolean> {
    const { deletedCount } = await this.#uploads.deleteOne({ _id: id, status: { $in: [...from] } });
    return deletedCount === 1;
  }

  /**
   * Locks the camera for an upload. Returns false if another upload holds it: reserved and in time, `uploading`, or
   * being resumed. A lock left by a crash is replaced, because its record decides. The record of this upload must exist
   * before: reserved, or paused with a control command begun.
   */
  async lockCamera(imei: string, uploadId: string, reservedUntilMs: number): Promise<boolean> {
    for (;;) {
      try {
        await this.#locks.insertOne({ _id: imei, uploadId, reservedUntilMs });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      const lock = await this.#locks.findOne({ _id: imei });
      if (lock === null) continue;
      if (lock.uploadId !== uploadId && (await this.#isActive(lock))) return false;
      const { matchedCount } = await this.#locks.updateOne(
        { _id: imei, uploadId: lock.uploadId, reservedUntilMs: lock.reservedUntilMs },
        { $set: { uploadId, reservedUntilMs } },
      );
      if (matchedCount === 1) return true;
    }
  }

  /** Unlocks the camera, if this upload holds it. */
  async unlockCamera(imei: string, uploadId: string): Promise<void> {
    await this.#locks.deleteOne({ _id: imei, uploadId });
  }

  /** Deletes locks of ended uploads and of crashes. Returns their number. */
  async unlockIdleCameras(): Promise<number> {
    let unlocked = 0;
    for await (const lock of this.#locks.find({ reservedUntilMs: { $lt: Date.now() } })) {
      if (await this.#isActive(lock)) continue;
      const { _id, uploadId, reservedUntilMs } = lock;
      unlocked += (await this.#locks.deleteOne({ _id, uploadId, reservedUntilMs })).deletedCount;
    }
    return unlocked;
  }

  /** Returns whether a lock still counts, by the upload's record. */
  async #isActive(lock: UploadLock): Promise<boolean> {
    const record = await this.find(lock.uploadId);
    if (record === null) return false;
    if (record.status === 'uploading') return true;
    if (record.status === 'reserved') return lock.reservedUntilMs > Date.now();
    // A resume that waits for its response.
    return record.status === 'paused' && record.control !== null && record.control.untilMs > Date.now();
  }

  /** Runs one after another: FerretDB 1 drops a connection that requests several indexes concurrently if some exist. */
  async #createIndexes(): Promise<void> {
    await this.#uploads.createIndex({ clipKey: 1 }, { unique: true });
    await this.#uploads.createIndex({ 'clip.imei': 1, createdAtMs: -1 });
    await this.#uploads.createIndex({ status: 1, changedAtMs: 1 });
    await this.#uploads.createIndex({ accountId: 1, _id: 1 });
    await this.#uploads.createIndex({ accountId: 1, number: -1, vehicleId: 1, status: 1, createdAtMs: 1 });
    await this.#uploads.createIndex({ vehicleId: 1, number: -1, status: 1, createdAtMs: 1 });
    await this.#locks.createIndex({ reservedUntilMs: 1 });
    for (const name of ['clip.imei_1', 'status_1', 'accountId_1']) await dropIndexIfExists(this.#uploads, name);
  }

  /** Callers that only lock the record leave its revision unchanged. */
  async #update(
    filter: Filter<UploadRecord>,
    fields: Partial<UploadRecord>,
    isCounted = true,
  ): Promise<UploadRecord | null> {
    const update: UpdateFilter<UploadRecord> = { $set: fields, ...(isCounted ? { $inc: { revision: 1 } } : {}) };
    return this.#uploads.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  }
}
