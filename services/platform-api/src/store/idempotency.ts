import { dayMs, type IdempotencyRecord, type IdempotencyStore, type StoredResponse } from '@fleet/service-kit';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

interface StoredRequest {
  readonly _id: string;
  readonly bodySha256: string;
  readonly startedAt: Date;
  /**
   * The response as JSON text, because databases do not store every value and field name. An earlier release stored the
   * response as an object. Null while the request is running.
   */
  readonly answer: string | StoredResponse | null;
  readonly expiresAt: Date;
}

/** Time after which a running request counts as crashed, or its response as lost. */
const runningTimeoutMs = 60_000;
/** Time for which the first response is replayed. */
const retentionMs = dayMs;

/** Stores first responses by idempotency key, in the collection `idempotency_keys`. `sweep` removes expired ones. */
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
    // If the entry was deleted concurrently, the other request has failed, and the caller begins again.
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

  /** Removes expired keys and returns their number. */
  async sweep(now = new Date()): Promise<number> {
    return (await this.#collection.deleteMany({ expiresAt: { $lt: now } })).deletedCount;
  }
}
