import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** A file of an alarm that is kept. */
export interface StoredAttachment {
  /** As the terminal calls it. */
  readonly name: string;
  readonly fileId: string;
}

/** An alarm whose terminal has been asked for its attachments: a document of `attachment_expectations`. */
export interface Expectation {
  /** Number of the alarm, 32 hex digits. */
  readonly _id: string;
  /** Canonical number of the terminal. */
  readonly imei: string;
  readonly accountId: number;
  readonly vehicleId: number;
  readonly notificationId: number;
  /** Files that the alarm counts. */
  readonly count: number;
  readonly expiresAtMs: number;
  readonly files: readonly StoredAttachment[];
}

/** Without `files` until there are some: an update that inserts an empty list is not the same on all servers. */
type StoredExpectation = Omit<Expectation, 'files'> & Partial<Pick<Expectation, 'files'>>;

/** What is expected of which terminal, shared by all pods. */
export class ExpectedAttachments {
  readonly #collection: Collection<StoredExpectation>;

  constructor(database: Database) {
    this.#collection = database.collection<StoredExpectation>('attachment_expectations');
  }

  async ensureIndexes(): Promise<void> {
    await this.#collection.createIndex({ expiresAtMs: 1 });
  }

  /** Expects the attachments of an alarm; once more, it is for longer. */
  async expect({ _id, expiresAtMs, ...alarm }: Omit<Expectation, 'files'>): Promise<void> {
    const store = async (): Promise<void> => {
      const change = { $setOnInsert: alarm, $max: { expiresAtMs } };
      await this.#collection.updateOne({ _id }, change, { upsert: true });
    };
    await store().catch((error: unknown) => {
      // Another pod has just stored the same one.
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

  /** Forgets what is over. */
  async deleteExpired(nowMs = Date.now()): Promise<void> {
    await this.#collection.deleteMany({ expiresAtMs: { $lte: nowMs } });
  }
}
