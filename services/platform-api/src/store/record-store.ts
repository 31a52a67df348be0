import { allocateIds, type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** Fields of every stored record (services/platform-api/openapi.json). */
export interface RecordFields {
  readonly _id: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly version: number;
}

/** A record without the fields of `RecordFields`, which the store adds. */
export type NewRecord<T extends RecordFields> = Omit<T, keyof RecordFields>;

/** The record that has a unique value, such as an e-mail. `_id` is `<collection>.<field>:<value>`. */
export interface UniqueValue {
  readonly _id: string;
  readonly recordId: number;
  readonly takenAt?: Date;
}

/** Records of an account that have just been written. */
export interface RecordChange {
  readonly collection: string;
  readonly accountId: number;
  readonly action: 'created' | 'updated' | 'removed';
  /** The records after the change, or before their removal; only the ids after a change of many. */
  readonly records: readonly { readonly _id: number }[];
}

/**
 * Stores records with integer ids from a counter per collection, and with unique values. A unique value is a separate
 * document, found by `_id`: reads by another index are a scan on the embedded database, and unique indexes with absent
 * values differ between servers.
 */
export class RecordStore {
  readonly #database: Database;
  readonly #watchers: {
    readonly collections: ReadonlySet<string>;
    readonly onChange: (change: RecordChange) => void;
  }[] = [];

  constructor(database: Database) {
    this.#database = database;
  }

  /** The database, for collections with ids of their own. */
  get database(): Database {
    return this.#database;
  }

  /** Calls `onChange` for every change of these collections by an `AccountRepository` in this process. */
  watch(collections: readonly string[], onChange: (change: RecordChange) => void): void {
    this.#watchers.push({ collections: new Set(collections), onChange });
  }

  /** Returns true if a collection has watchers. */
  isWatched(collection: string): boolean {
    return this.#watchers.some(({ collections }) => collections.has(collection));
  }

  /** Notifies the watchers of a written change. */
  notifyChanged(change: RecordChange): void {
    for (const { collections, onChange } of this.#watchers) if (collections.has(change.collection)) onChange(change);
  }

  collection<T extends RecordFields>(name: string): Collection<T> {
    return this.#database.collection<T>(name);
  }

  /** Returns the record that holds a unique value, or null. */
  async findByUnique<T extends RecordFields>(name: string, field: string, value: string): Promise<T | null> {
    const holder = await this.uniqueValues.findOne({ _id: `${name}.${field}:${value}` });
    if (holder === null) return null;
    const filter: object = { _id: holder.recordId };
    return (await this.collection<T>(name).findOne(filter)) as T | null;
  }

  /**
   * Inserts a record with a unique value. Returns the existing record and `created: false` if the value is taken. If a
   * creator crashed between the two writes, the value belongs to an id without a record, and the next record gets that
   * id.
   */
  async insertUnique<T extends RecordFields>(
    name: string,
    field: string,
    value: string,
    fields: NewRecord<T>,
  ): Promise<{ record: T; created: boolean }> {
    const existing = await this.findByUnique<T>(name, field, value);
    if (existing !== null) return { record: existing, created: false };
    const id = await this.#claim(`${name}.${field}:${value}`, await this.nextId(name));
    const now = new Date();
    const record = { _id: id, ...fields, createdAt: now, updatedAt: now, version: 1 } as unknown as T;
    try {
      await this.#database.collection(name).insertOne(record as object);
      const { accountId } = record as { accountId?: number };
      if (accountId !== undefined)
        this.notifyChanged({ collection: name, accountId, action: 'created', records: [record] });
      return { record, created: true };
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      const winner = await this.findByUnique<T>(name, field, value);
      if (winner === null) throw error;
      return { record: winner, created: false };
    }
  }

  get uniqueValues(): Collection<UniqueValue> {
    return this.#database.collection<UniqueValue>('unique_values');
  }

  /** Returns the id that holds the value: the given one, or that of the first creator. */
  async #claim(key: string, id: number): Promise<number> {
    if (await this.#tryClaim(key, id)) return id;
    const holder = await this.uniqueValues.findOne({ _id: key });
    if (holder === null) throw new Error(`no record has the unique value ${key}`);
    return holder.recordId;
  }

  /** Returns false if the value is taken. */
  async #tryClaim(key: string, id: number): Promise<boolean> {
    try {
      await this.uniqueValues.insertOne({ _id: key, recordId: id });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** Returns the next id of a collection, which is never reused. */
  async nextId(name: string): Promise<number> {
    const [id] = await this.nextIds(name, 1);
    return id as number;
  }

  /** Returns the next `count` ids of a collection, which are never reused. */
  nextIds(name: string, count: number): Promise<number[]> {
    return allocateIds(this.#database, name, count);
  }
}
