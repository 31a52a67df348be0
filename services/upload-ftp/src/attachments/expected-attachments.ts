import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** A stored file of an alarm. */
interface StoredAttachment {
  /** Name as the terminal sent it. */
  readonly name: string;
  readonly fileId: string;
}

/** An alarm whose attachments were requested from its terminal: a document of `attachment_expectations`. */
export interface Expectation {
  /** Alarm number, 32 hex digits. */
  readonly _id: string;
  /** Canonical number of the terminal. */
  readonly imei: string;
  readonly accountId: number;
  readonly vehicleId: number;
  readonly notificationId: number;
  /** Number of files that the alarm reports. */
  readonly count: number;
  readonly expiresAtMs: number;
  readonly files: readonly StoredAttachment[];
}

/** `files` is absent until the first file is stored: servers differ in how an update inserts an empty list. */
type StoredExpectation = Omit<Expectation, 'files'> & Partial<Pick<Expectation, 'files'>>;

/** Stores the attachments expected from terminals, shared by all pods. */
export class ExpectedAttachments {
  readonly #collection: Collection<StoredExpectation>;

  constructor(database: Database) {
    this.#collection = database.collection<StoredExpectation>('attachment_expectations');
  }

  async ensureIndexes(): Promise<void> {
    await this.#collection.createIndex({ expiresAtMs: 1 });
  }

  /** Records that the attachments of an alarm are expected. A repeated call can only extend the expiry. */
  async expect({ _id, expiresAtMs, ...alarm }: Omit<Expectation, 'files'>): Promise<void> {
    const store = async (): Promise<void> => {
      const change = { $setOnInsert: alarm, $max: { expiresAtMs } };
      await this.#collection.updateOne({ _id }, change, { upsert: true });
    };
    await store().catch((error: unknown) => {
      // Another pod has stored the same document concurrently.
      if (!isDuplicateKey(error)) throw error;
      return store();
    });
  }

  async find(alarmNo: string): Promise<Expectation | null> {
    const stored = await this.#collection.findOne({ _id: alarmNo });
    return stored === null ? null : { files: [], ...stored };
  }

  async markStored(alarmNo: string, file: StoredAttachment): Promise<void> {
    await this.#collection.updateOne({ _id: alarmNo }, { $push: { files: file } });
  }

  /** Deletes expired expectations. */
  async deleteExpired(nowMs = Date.now()): Promise<void> {
    await this.#collection.deleteMany({ expiresAtMs: { $lte: nowMs } });
  }
}
