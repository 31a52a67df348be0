import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';

/** What every stored record has (services/platform-api/openapi.json). */
export interface RecordFields {
  readonly _id: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly version: number;
}

/** A record as its maker gives it: the fields of `RecordFields` are filled in here. */
export type NewRecord<T extends RecordFields> = Omit<T, keyof RecordFields>;

interface Counter {
  readonly _id: string;
  readonly value: number;
}

/** Which record has a value that only one may have, such as an e-mail. `_id` is `<collection>.<field>:<value>`. */
export interface UniqueValue {
  readonly _id: string;
  readonly recordId: number;
  readonly takenAt?: Date;
}

/** Records of an account that were written just now. */
export interface RecordChange {
  readonly collection: string;
  readonly accountId: number;
  readonly action: 'created' | 'updated' | 'removed';
  /** As they are now, or were; of many that were changed at once only the ids. */
  readonly records: readonly { readonly _id: number }[];
}

/**
 * Records with integer ids from a counter per collection, and values that are unique. Uniqueness is a document of its own, found by `_id`: reads by
 * another index are a scan on the embedded database, and unique indexes with absent values differ between servers.
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

  /** For what has ids of its own. */
  get database(): Database {
    return this.#database;
  }

  /** Tells of every change that `AccountRecords` makes to these collections in this process. */
  watch(collections: readonly string[], onChange: (change: RecordChange) => void): void {
    this.#watchers.push({ collections: new Set(collections), onChange });
  }

  /** Whether anybody wants to know. */
  isWatched(collection: string): boolean {
    return this.#watchers.some(({ collections }) => collections.has(collection));
  }

  /** A change has been written. */
  notifyChanged(change: RecordChange): void {
    for (const { collections, onChange } of this.#watchers) if (collections.has(change.collection)) onChange(change);
  }

  collection<T extends RecordFields>(name: string): Collection<T> {
    return this.#database.collection<T>(name);
  }

  /** The record that holds a unique value, or null. */
  async findByUnique<T extends RecordFields>(name: string, field: string, value: string): Promise<T | null> {
    const holder = await this.uniqueValues.findOne({ _id: `${name}.${field}:${value}` });
    if (holder === null) return null;
    const filter: object = { _id: holder.recordId };
    return (await this.collection<T>(name).findOne(filter)) as T | null;
  }

  /**
   * Inserts a record that alone may have a value; where one has it already, answers that one and `created: false`. A maker that died between the two writes
   * left the value to an id without a record: the next maker's record gets that id.
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

  /** Answers the id that holds the value: the given one, or that of whoever was first. */
  async #claim(key: string, id: number): Promise<number> {
    if (await this.#tryClaim(key, id)) return id;
    const holder = await this.uniqueValues.findOne({ _id: key });
    if (holder === null) throw new Error(`${key} is taken by nobody`);
    return holder.recordId;
  }

  /** False when the value is another's already. */
  async #tryClaim(key: string, id: number): Promise<boolean> {
    try {
      await this.uniqueValues.insertOne({ _id: key, recordId: id });
      return true;
    } catch (error) {
      if (isDuplicateKey(error)) return false;
      throw error;
    }
  }

  /** The next id of a collection; never given twice. */
  async nextId(name: string): Promise<number> {
    const [id] = await this.nextIds(name, 1);
    return id as number;
  }

  /** So many next ids of a collection, in one go; none is ever given twice. */
  async nextIds(name: string, count: number): Promise<number[]> {
    const counters = this.#database.collection<Counter>('counters');
    for (;;) {
      try {
        const update = { $inc: { value: count } };
        const counter = await counters.findOneAndUpdate({ _id: name }, update, {
          upsert: true,
          returnDocument: 'after',
        });
        if (counter === null) throw new Error(`the counter of ${name} gave no id`);
        return Array.from({ length: count }, (_, at) => counter.value - count + 1 + at);
      } catch (error) {
        // Two that make the counter at the same time: the second finds it there.
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }
}
