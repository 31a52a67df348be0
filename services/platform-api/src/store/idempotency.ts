import type { IdempotencyRecord, IdempotencyStore, StoredResponse } from '@fleet/service-kit';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

interface StoredRequest {
  readonly _id: string;
  readonly bodySha256: string;
  readonly startedAt: Date;
  /** As JSON, since databases do not store every value and name that answers have; one that an older version kept is the answer itself. Null while the request runs. */
  readonly answer: string | StoredResponse | null;
  readonly expiresAt: Date;
}

/** A request that has run for longer than this died with its process, or its answer could not be kept. */
const runningTimeoutMs = 60_000;
/** How long a first answer is replayed. */
const retentionMs = 24 * 3600 * 1000;

/** First answers by idempotency key, in the collection `idempotency_keys`; expired ones are removed by `sweep`. */
export class IdempotencyKeyStore implements IdempotencyStore {
  readonly #collection: Collection<StoredRequest>;

  constructor(database: Database) {
    this.#collection = database.collection<StoredRequest>('idempotency_keys');
  }

  async begin(id: string, bodySha256: string): Promise<IdempotencyRecord | null> {
    const now = new Date();
    const entry = { bodySha256, startedAt: now, answer: null, expiresAt: new Date(now.getTime() + retentionMs) };
    try {
      await this.#collection.insertOne({ _id: id, ...entry });
      return null;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
    }
    const abandonedBefore = new Date(now.getTime() - runningTimeoutMs);
    const taken = await this.#collection.updateOne(
      {
        _id: id,
        $or: [{ expiresAt: { $lt: now } }, { answer: null, startedAt: { $lt: abandonedBefore } }],
      },
      { $set: entry },
    );
    // Gone meanwhile: the other request has failed, and this one asks again.
    return taken.modifiedCount === 1 ? null : ((await this.read(id)) ?? { state: 'running', bodySha256 });
  }

  async read(id: string): Promise<IdempotencyRecord | null> {
    const stored = await this.#collection.findOne({ _id: id });
    if (stored === null) return null;
    const { bodySha256, answer: response } = stored;
    if (response === null) return { state: 'running', bodySha256 };
    return {
      state: 'answered',
      bodySha256,
      response: typeof response === 'string' ? (JSON.parse(response) as StoredResponse) : response,
    };
  }

  async save(id: string, response: StoredResponse): Promise<void> {
    await this.#collection.updateOne({ _id: id }, { $set: { answer: JSON.stringify(response) } });
  }

  async delete(id: string): Promise<void> {
    await this.#collection.deleteOne({ _id: id, answer: null });
  }

  /** Removes what has expired; the number of removed keys. */
  async sweep(now = new Date()): Promise<number> {
    return (await this.#collection.deleteMany({ expiresAt: { $lt: now } })).deletedCount;
  }
}
