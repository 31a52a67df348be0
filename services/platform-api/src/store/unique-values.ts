import { AppError } from '@fleet/service-kit';
import { type Collection, isDuplicateKey } from '@fleet/storage';
import type { RecordFields, RecordStore, UniqueValue } from './record-store.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Owner {
  readonly accountId: number;
}

/** Time after which a record is considered never to be inserted once its unique value was taken. */
const insertTimeoutMs = 30_000;

/**
 * Stores the unique values of one collection, as documents found by `_id`. A value that a crash left without its record
 * can be taken over.
 */
export class UniqueValues {
  readonly #records: RecordStore;
  readonly #name: string;
  readonly #unique: readonly (readonly [string, 'account' | 'system'])[];

  constructor(records: RecordStore, name: string, unique: Readonly<Record<string, 'account' | 'system'>>) {
    this.#records = records;
    this.#name = name;
    this.#unique = Object.entries(unique);
  }

  /**
   * Claims the unique values among fields for a record, except those it has already. Returns the claimed keys; throws
   * 409 `duplicate` if another record has one of the values.
   */
  async claimAll(owner: Owner, id: number, fields: Fields, before?: object): Promise<string[]> {
    const own = new Set(before === undefined ? [] : this.#keys(owner, before));
    const claimed: string[] = [];
    for (const [key, field] of this.#entries(owner, fields)) {
      if (own.has(key)) continue;
      if (await this.#claim(key, field, id)) {
        claimed.push(key);
        continue;
      }
      await this.release(id, claimed);
      throw duplicateError(field);
    }
    return claimed;
  }

  /** Releases the values that a change of a record has replaced. */
  async releaseChanged(id: number, before: Owner, after: Owner): Promise<void> {
    const retained = new Set(this.#keys(after, after));
    await this.release(
      id,
      this.#keys(before, before).filter((key) => !retained.has(key)),
    );
  }

  /** Releases all values of a removed record. */
  async releaseAll(id: number, removed: Owner): Promise<void> {
    await this.release(id, this.#keys(removed, removed));
  }

  async release(id: number, keys: readonly string[]): Promise<void> {
    for (const key of keys) await this.#documents.deleteOne({ _id: key, recordId: id });
  }

  get #documents(): Collection<UniqueValue> {
    return this.#records.uniqueValues;
  }

  #keys(owner: Owner, record: object): string[] {
    return this.#entries(owner, record as Fields).map(([key]) => key);
  }

  /** Returns the keys of unique values of some fields, with the field of each. */
  #entries({ accountId }: Owner, fields: Fields): (readonly [string, string])[] {
    return this.#unique
      .filter(([field]) => fields[field] !== undefined && fields[field] !== null)
      .map(([field, scope]) => {
        const value = String(fields[field]);
        const key = scope === 'account' ? `${accountId}:${value}` : value;
        return [`${this.#name}.${field}:${key}`, field] as const;
      });
  }

  async #claim(key: string, field: string, id: number): Promise<boolean> {
    for (;;) {
      try {
        await this.#documents.insertOne({ _id: key, recordId: id, takenAt: new Date() });
        return true;
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
      const holder = await this.#documents.findOne({ _id: key });
      if (holder === null) continue;
      if (holder.recordId === id) return true;
      if (await this.#isClaimed(key, field, holder)) return false;
      await this.#documents.deleteOne({ _id: key, recordId: holder.recordId });
    }
  }

  /** Returns true if a value is in use: its record has it, or may still be about to be written. */
  async #isClaimed(key: string, field: string, holder: UniqueValue): Promise<boolean> {
    const collection = this.#records.collection<RecordFields & Owner>(this.#name);
    const record = (await collection.findOne({ _id: holder.recordId })) as (Owner & Fields) | null;
    if (record !== null && this.#entries(record, record).some(([own, of]) => own === key && of === field)) return true;
    return holder.takenAt !== undefined && Date.now() - holder.takenAt.getTime() < insertTimeoutMs;
  }
}

function duplicateError(field: string): AppError {
  const name = field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return new AppError('duplicate', `Another record has this ${name} already.`, {
    details: [{ path: `/${name}`, message: 'is taken' }],
  });
}
