import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** A file of an alarm that is kept. */
export interface KeptFile {
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
  readonly files: readonly KeptFile[];
}

/** Without `files` until there are some: an update that inserts an empty list is not the same on all servers. */
type Stored = Omit<Expectation, 'files'> & Partial<Pick<Expectation, 'files'>>;

/** What is expected of which terminal, shared by all pods. */
export class Expectations {
  readonly #expectations: Collection<Stored>;

  constructor(database: Database) {
    this.#expectations = database.collection<Stored>('attachment_expectations');
  }

  async ensureIndexes(): Promise<void> {
    await this.#expectations.createIndex({ expiresAtMs: 1 });
  }

  /** Expects the attachments of an alarm; once more, it is for longer. */
  async expect({ _id, expiresAtMs, ...alarm }: Omit<Expectation, 'files'>): Promise<void> {
    const store = async (): Promise<void> => {
      const change = { $setOnInsert: alarm, $max: { expiresAtMs } };
      await this.#expectations.updateOne({ _id }, change, { upsert: true });
    };
    await store().catch((error: unknown) => {
      // Another pod has just stored the same one.
      if (!isDuplicateKey(error)) throw error;
      return store();
    });
  }

  async find(alarmNo: string): Promise<Expectation | null> {
    const stored = await this.#expectations.findOne({ _id: alarmNo });
    return stored === null ? null : { files: [], ...stored };
  }

  async addKept(alarmNo: string, file: KeptFile): Promise<void> {
    await this.#expectations.updateOne({ _id: alarmNo }, { $push: { files: file } });
  }

  /** Forgets what is over. */
  async sweep(nowMs = Date.now()): Promise<void> {
    await this.#expectations.deleteMany({ expiresAtMs: { $lte: nowMs } });
  }
}
