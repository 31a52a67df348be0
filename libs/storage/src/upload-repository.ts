import { randomBytes } from 'node:crypto';
import type { Filter, UpdateFilter } from 'mongodb';
import { type Collection, type Database, dropIndexIfExists, isDuplicateKey } from './mongo.ts';

/** The statuses that the interface shows. */
export const uploadStatuses = ['uploading', 'paused', 'completed', 'failed', 'cancelled'] as const;

/** Status of an upload that the interface shows. */
export type UploadStatus = (typeof uploadStatuses)[number];

/** What identifies a clip: host, port and networks do not count. Values are those of JT/T 1078 table 22 (0x9205). */
export interface Clip {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly mediaType: number;
  readonly streamType: number;
  readonly storageType: number;
  /** Unsigned 64-bit number in decimal. */
  readonly alarmFlags: string;
}

/** One file that a camera has sent, or is sending, for an upload. */
export interface UploadedFile {
  /** Path below the upload's own directory, as the camera named it. */
  readonly path: string;
  readonly bytes: number;
  /** `whole`: its last transfer ended as a transfer should; `broken`: it was cut off. */
  readonly state: 'receiving' | 'whole' | 'broken';
  /** When its first transfer began; files are downloaded in this order. */
  readonly startedAtMs: number;
}

/** One clip upload, a document of the collection `uploads`. */
export interface UploadRecord {
  /** 24 hex digits: the interface's `video_id`. */
  readonly _id: string;
  /** `clipKey()` of the clip and the account; unique. */
  readonly clipKey: string;
  readonly clip: Clip;
  /** Whose device it was when the upload was requested, and whose the clip stays; null, and absent on older records: nobody's. */
  readonly accountId?: number | null;
  /** The terminal's number as it sends it, or as the caller wrote it while it is not known. */
  readonly shownImei: string;
  /** The number as the caller wrote it who requested the upload: answers about one upload repeat it. */
  readonly askedImei: string;
  /** The camera's clock when the upload was requested, such as `+08:00`. */
  readonly cameraUtcOffset: string;
  /** `reserved`: the camera has not answered yet; nobody is shown it, and it ends at `reservedUntilMs`. */
  readonly status: 'reserved' | UploadStatus;
  readonly reservedUntilMs: number;
  /** Whether the camera may upload over the mobile network: silence then counts from the request. */
  readonly mobileNetwork: boolean;
  /** Header serial of the 0x9206, which 0x9207 and 0x1206 repeat; null when its answer was lost with a process. */
  readonly commandSerialNo: number | null;
  /** A control command that the camera has not answered yet. */
  readonly control: { readonly token: string; readonly untilMs: number } | null;
  /** What the camera logs in with; the user name is `uploadUserName(_id)`. */
  readonly credential: { readonly passwordSha256: string; readonly expiresAtMs: number } | null;
  /** The upload-ftp pod that has the files, and where its HTTP side is reached; pod `any` once they are in object storage. */
  readonly server: { readonly podId: string; readonly httpUrl: string } | null;
  readonly files: readonly UploadedFile[];
  /** The camera was sent to an FTP server that is not ours; absent otherwise. */
  readonly external?: boolean;
  /** Sum of the files' bytes. */
  readonly filesize: number;
  /** Newest file that has bytes, or the first to be opened. */
  readonly filename: string | null;
  /** The camera's 0x1206: 0 success, 1 failure. */
  readonly result: { readonly code: number; readonly atMs: number } | null;
  /** The camera ended its FTP session with QUIT after a transfer. */
  readonly hasQuit: boolean;
  readonly lastByteAtMs: number | null;
  /** Time without a byte during which the device was connected. */
  readonly silentMs: number;
  readonly createdAtMs: number;
  /** When the status last changed. */
  readonly changedAtMs: number;
}

/** Who holds a camera for an upload: a document of `upload_locks`, `_id` is the canonical terminal number. */
interface UploadLock {
  readonly _id: string;
  readonly uploadId: string;
  /** Until then the lock counts while the upload is `reserved`. */
  readonly reservedUntilMs: number;
}

/** The identity of a clip as one string; accounts that have a device one after the other each have clips of their own. */
export const clipKey = (clip: Clip, accountId: number | null = null): string =>
  [
    clip.imei,
    clip.channel,
    clip.startMs,
    clip.endMs,
    clip.mediaType,
    clip.streamType,
    clip.storageType,
    clip.alarmFlags,
    ...(accountId === null ? [] : [`account-${accountId}`]),
  ].join(':');

/** What a reservation says beside its clip; nothing has been sent and nobody has answered yet. */
export type Reservation = Pick<
  UploadRecord,
  'accountId' | 'shownImei' | 'askedImei' | 'cameraUtcOffset' | 'reservedUntilMs' | 'mobileNetwork'
>;

/** The record of a clip that is about to be asked for, under an id of its own. */
export function createReservation(clip: Clip, reservation: Reservation): UploadRecord {
  const nowMs = Date.now();
  return {
    _id: randomBytes(12).toString('hex'),
    clipKey: clipKey(clip, reservation.accountId),
    clip,
    ...reservation,
    status: 'reserved',
    commandSerialNo: null,
    control: null,
    credential: null,
    server: null,
    files: [],
    filesize: 0,
    filename: null,
    result: null,
    hasQuit: false,
    lastByteAtMs: null,
    silentMs: 0,
    createdAtMs: nowMs,
    changedAtMs: nowMs,
  };
}

/** Returns whether the clip goes to an FTP server that is not ours. A file that arrives here shows that the server is ours under another name. */
export const isExternalUpload = ({ external, files }: Pick<UploadRecord, 'external' | 'files'>): boolean =>
  external === true && files.length === 0;

/** FTP user name of an upload: letters and digits only, as cameras need it. */
export const uploadUserName = (uploadId: string): string => `u${uploadId}`;

/** Records of clip uploads. Every change is a compare-and-set on one document: no transaction, so the same on every MongoDB. */
export class UploadRepository {
  readonly #uploads: Collection<UploadRecord>;
  readonly #locks: Collection<UploadLock>;
  #indexes: Promise<unknown> | undefined;

  constructor(database: Database) {
    this.#uploads = database.collection<UploadRecord>('uploads');
    this.#locks = database.collection<UploadLock>('upload_locks');
  }

  /** Makes the indexes; the unique one has to stand before the first reservation. A failure is tried again by the next call. */
  async ensureIndexes(): Promise<void> {
    this.#indexes ??= this.#createIndexes();
    try {
      await this.#indexes;
    } catch (error) {
      this.#indexes = undefined;
      throw error;
    }
  }

  /** Stores a reservation; false when the clip has a record already. */
  async reserve(record: UploadRecord): Promise<boolean> {
    await this.ensureIndexes();
    try {
      await this.#uploads.insertOne(record);
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

  /** Every upload of a device but reservations, newest first. */
  listByDevice(imei: string, channel?: number): Promise<UploadRecord[]> {
    const filter: Filter<UploadRecord> = { 'clip.imei': imei, status: { $ne: 'reserved' } };
    if (channel !== undefined) filter['clip.channel'] = channel;
    return this.#uploads.find(filter).sort({ createdAtMs: -1 }).toArray();
  }

  /** Uploads of an account in any status, reservations too, by id from behind `afterId`. */
  listByAccount(accountId: number, limit: number, afterId = ''): Promise<UploadRecord[]> {
    return this.#uploads
      .find({ accountId, _id: { $gt: afterId } })
      .sort({ _id: 1 })
      .limit(limit)
      .toArray();
  }

  /** The newest reservation of a device whose camera may still answer, or null. */
  findReservation(imei: string): Promise<UploadRecord | null> {
    return this.#uploads.findOne(
      { 'clip.imei': imei, status: 'reserved', reservedUntilMs: { $gt: Date.now() } },
      { sort: { createdAtMs: -1 } },
    );
  }

  /** Statuses of those uploads that have a record. */
  async findStatuses(ids: readonly string[]): Promise<Map<string, UploadRecord['status']>> {
    const found = await this.#uploads.find({ _id: { $in: [...ids] } }).toArray();
    return new Map(found.map(({ _id, status }) => [_id, status]));
  }

  /** Uploads in any of the statuses, oldest change first. */
  listByStatus(statuses: readonly UploadRecord['status'][], limit: number): Promise<UploadRecord[]> {
    return this.#uploads
      .find({ status: { $in: [...statuses] } })
      .sort({ changedAtMs: 1 })
      .limit(limit)
      .toArray();
  }

  /** Changes the status if it still is one of `from`; the record after the change, or null when the race was lost. */
  transition(
    id: string,
    from: readonly UploadRecord['status'][],
    to: UploadStatus,
    set: Partial<UploadRecord> = {},
  ): Promise<UploadRecord | null> {
    return this.#update({ _id: id, status: { $in: [...from] } }, { ...set, status: to, changedAtMs: Date.now() });
  }

  /** Sets fields without a change of status, if that still is one of `from`; null when it is not. */
  set(
    id: string,
    from: readonly UploadRecord['status'][],
    fields: Partial<UploadRecord>,
  ): Promise<UploadRecord | null> {
    return this.#update({ _id: id, status: { $in: [...from] } }, fields);
  }

  /**
   * Changes a record only if it still is as it was seen: same status since the same moment, same files and bytes, no transfer begun meanwhile. For conclusions
   * drawn from the files; null when something has happened since, and the conclusion has to be drawn anew. `to` is the status afterwards, if another.
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

  /** Uploads in any of the statuses whose files one pod of upload-ftp has. */
  listByPod(podId: string, statuses: readonly UploadRecord['status'][]): Promise<UploadRecord[]> {
    return this.#uploads.find({ 'server.podId': podId, status: { $in: [...statuses] } }).toArray();
  }

  /** Takes the right to command the camera about an upload; null when another command is out or the status is another. */
  beginControl(id: string, status: UploadStatus, token: string, untilMs: number): Promise<UploadRecord | null> {
    return this.#update(
      { _id: id, status, $or: [{ control: null }, { 'control.untilMs': { $lt: Date.now() } }] },
      { control: { token, untilMs } },
    );
  }

  async endControl(id: string, token: string): Promise<void> {
    await this.#uploads.updateOne({ _id: id, 'control.token': token }, { $set: { control: null } });
  }

  /** Removes a record if its status is one of `from`; false when it is not there (any more) in such a status. */
  async remove(id: string, from: readonly UploadRecord['status'][]): Promise<boolean> {
    const { deletedCount } = await this.#uploads.deleteOne({ _id: id, status: { $in: [...from] } });
    return deletedCount === 1;
  }

  /**
   * Takes the camera for an upload; false when another upload has it: reserved and in time, `uploading`, or being resumed. A lock that a crash has left behind
   * gives way, as the record it names decides. Its own record has to stand before: reserved, or paused with a control command begun.
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

  /** Gives the camera back, if this upload has it. */
  async unlockCamera(imei: string, uploadId: string): Promise<void> {
    await this.#locks.deleteOne({ _id: imei, uploadId });
  }

  /** Removes locks that hold nothing any more: their uploads have ended, or a crash has left them behind. Answers how many. */
  async unlockIdleCameras(): Promise<number> {
    let unlocked = 0;
    for await (const lock of this.#locks.find({ reservedUntilMs: { $lt: Date.now() } })) {
      if (await this.#isActive(lock)) continue;
      const { _id, uploadId, reservedUntilMs } = lock;
      unlocked += (await this.#locks.deleteOne({ _id, uploadId, reservedUntilMs })).deletedCount;
    }
    return unlocked;
  }

  /** What a crash has left behind holds nothing: the record says who is waiting for the camera's answer. */
  async #isActive(lock: UploadLock): Promise<boolean> {
    const record = await this.find(lock.uploadId);
    if (record === null) return false;
    if (record.status === 'uploading') return true;
    if (record.status === 'reserved') return lock.reservedUntilMs > Date.now();
    // A resume whose answer is awaited.
    return record.status === 'paused' && record.control !== null && record.control.untilMs > Date.now();
  }

  /** One after another: FerretDB 1 drops the connection that asks for several at once of which some stand already. */
  async #createIndexes(): Promise<void> {
    await this.#uploads.createIndex({ clipKey: 1 }, { unique: true });
    await this.#uploads.createIndex({ 'clip.imei': 1, createdAtMs: -1 });
    await this.#uploads.createIndex({ status: 1, changedAtMs: 1 });
    await this.#uploads.createIndex({ accountId: 1, _id: 1 });
    await this.#locks.createIndex({ reservedUntilMs: 1 });
    for (const name of ['clip.imei_1', 'status_1', 'accountId_1']) await dropIndexIfExists(this.#uploads, name);
  }

  async #update(filter: Filter<UploadRecord>, fields: Partial<UploadRecord>): Promise<UploadRecord | null> {
    const update: UpdateFilter<UploadRecord> = { $set: fields };
    return this.#uploads.findOneAndUpdate(filter, update, { returnDocument: 'after' });
  }
}
