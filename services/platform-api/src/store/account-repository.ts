import { assertVersion, type Page, type Pagination, type Sort, versionMismatch } from '@fleet/service-kit';
import type { Collection } from '@fleet/storage';
import type { RecordChange, RecordFields, RecordStore } from './record-store.ts';
import { findUnionPage } from './union-page.ts';
import { UniqueValues } from './unique-values.ts';

/** A record that belongs to an account. */
export interface AccountRecord extends RecordFields {
  readonly accountId: number;
}

/** The account whose records a query reads or changes. Every method requires it, so that no query can omit it. */
export interface Scope {
  readonly accountId: number;
}

/**
 * Records that a read may return: those of the account, and single shared records of other accounts. Changes accept
 * only a `Scope`.
 */
export interface ReadScope extends Scope {
  readonly sharedIds?: readonly number[];
  /** Conditions on the records of the account; shared records need not meet them. */
  readonly own?: Filter;
}

/** Fields of a record that its creator sets. */
export type NewAccountRecord<T extends AccountRecord> = Omit<T, keyof AccountRecord>;

/** Fields of a record that can be changed. */
export type Change<T extends AccountRecord> = Partial<NewAccountRecord<T>>;

/** Conditions on fields in MongoDB's syntax; `accountId` is added by the repository. */
export type Filter = Readonly<Record<string, unknown>>;

/** Conditions, order and page of a list. */
interface ListQuery {
  readonly where?: Filter;
  readonly sorting?: Sort;
  readonly paging?: Pagination;
}

/** Conditions for the removal of a record. */
interface RemoveOptions {
  readonly where?: Filter;
  readonly expectedVersion?: number | undefined;
}

/** Options of a collection of account records. */
interface RepositoryOptions {
  /** Fields whose value must be unique in the account, or in the whole system. Null and absent values are exempt. */
  readonly unique?: Readonly<Record<string, 'account' | 'system'>>;
}

/** Stores the records of one collection, scoped to one account: records of other accounts do not exist for callers. */
export class AccountRepository<T extends AccountRecord> {
  readonly name: string;
  readonly #records: RecordStore;
  readonly #uniqueValues: UniqueValues;

  constructor(records: RecordStore, name: string, options: RepositoryOptions = {}) {
    this.name = name;
    this.#records = records;
    this.#uniqueValues = new UniqueValues(records, name, options.unique ?? {});
  }

  async find(scope: ReadScope, id: number): Promise<T | null> {
    const { sharedIds = [] } = scope;
    const filter: object = sharedIds.includes(id) ? { _id: id } : tenantFilter(scope, { _id: id });
    return (await this.#collection.findOne(filter)) as T | null;
  }

  async findOne(scope: Scope, where: Filter): Promise<T | null> {
    return (await this.#collection.findOne({ ...where, accountId: scope.accountId })) as T | null;
  }

  /** Returns the existing records with the ids, in no particular order. */
  async findMany(scope: ReadScope, ids: readonly number[]): Promise<T[]> {
    const found: T[] = [];
    for (let at = 0; at < ids.length; at += queryBatchSize)
      found.push(...(await this.all(scope, { _id: { $in: ids.slice(at, at + queryBatchSize) } })));
    return found;
  }

  async all(scope: ReadScope, where: Filter = {}): Promise<T[]> {
    const found = visibilityFilters(scope, where).map((filter) => this.#collection.find(filter).toArray());
    return (await Promise.all(found)).flat() as unknown as T[];
  }

  /** Returns the id and some fields of records, for queries that read many. */
  async project<const K extends keyof T & string>(
    scope: ReadScope,
    fields: readonly K[],
    where: Filter = {},
  ): Promise<Pick<T, K | '_id'>[]> {
    const projection = Object.fromEntries(fields.map((field) => [field, 1]));
    const found = visibilityFilters(scope, where).map((filter) =>
      this.#collection.find(filter, { projection: { _id: 1, ...projection } }).toArray(),
    );
    return (await Promise.all(found)).flat() as unknown as Pick<T, K | '_id'>[];
  }

  async count(scope: ReadScope, where: Filter = {}): Promise<number> {
    const counts = await Promise.all(
      visibilityFilters(scope, where).map((filter) => this.#collection.countDocuments(filter)),
    );
    return counts.reduce((sum, count) => sum + count, 0);
  }

  /** Returns one page of a list, in a stable order. */
  async list(scope: ReadScope, { where = {}, sorting, paging }: ListQuery): Promise<Page<T>> {
    const [filter, shared] = visibilityFilters(scope, where);
    if (shared !== undefined) {
      const { field, direction } = sorting ?? newestFirst;
      const page = await findUnionPage(this.#collection, [filter, shared], { field, direction }, paging);
      return page as unknown as Page<T>;
    }
    const found = this.#collection.find(filter).sort(toSortOrder(sorting));
    if (paging !== undefined) found.skip(paging.offset).limit(paging.limit);
    const [items, total] = await Promise.all([found.toArray(), this.#collection.countDocuments(filter)]);
    return { items: items as unknown as T[], total };
  }

  /** Creates a record. Throws 409 `duplicate` if a unique value is taken. */
  async insert(scope: Scope, fields: NewAccountRecord<T>): Promise<T> {
    const id = await this.#records.nextId(this.name);
    const claimed = await this.#uniqueValues.claimAll(scope, id, fields);
    const now = new Date();
    const record = { ...fields, _id: id, accountId: scope.accountId, createdAt: now, updatedAt: now, version: 1 };
    try {
      await this.#collection.insertOne(record);
    } catch (error) {
      await this.#uniqueValues.release(id, claimed);
      throw error;
    }
    this.#notifyChanged(scope, 'created', [record]);
    return record as unknown as T;
  }

  /**
   * Changes fields; returns null if the record does not exist. With `expectedVersion` (If-Match) throws 412 for another
   * version; without it the last write of a field wins.
   */
  async update({ accountId }: Scope, id: number, change: Change<T>, expectedVersion?: number): Promise<T | null> {
    // Shared records are read-only.
    const scope = { accountId };
    const before = await this.find(scope, id);
    if (before === null) return null;
    assertVersion(before, expectedVersion);
    const claimed = await this.#uniqueValues.claimAll(scope, id, change, before);
    const filter = {
      _id: id,
      accountId,
      ...(expectedVersion === undefined ? {} : { version: expectedVersion }),
    };
    const update = { $set: { ...change, updatedAt: new Date() }, $inc: { version: 1 } } as object;
    const after = (await this.#collection.findOneAndUpdate(filter, update, { returnDocument: 'after' })) as T | null;
    if (after === null) {
      await this.#uniqueValues.release(id, claimed);
      const now = await this.find(scope, id);
      if (now !== null) throw versionMismatch(now.version);
      return null;
    }
    await this.#uniqueValues.releaseChanged(id, before, after);
    this.#notifyChanged(scope, 'updated', [after]);
    return after;
  }

  /** Changes records in one batch, without unique fields. Returns the number of changed records. */
  async updateMany(
    scope: Scope,
    where: Filter,
    update: { $set?: Filter; $pull?: Filter; $addToSet?: Filter },
  ): Promise<number> {
    const { $set, ...others } = update;
    const ids = this.#records.isWatched(this.name) ? await this.project({ accountId: scope.accountId }, [], where) : [];
    const result = await this.#collection.updateMany(
      { ...where, accountId: scope.accountId },
      {
        ...others,
        $set: { ...$set, updatedAt: new Date() },
        $inc: { version: 1 },
      },
    );
    if (result.modifiedCount > 0) this.#notifyChanged(scope, 'updated', ids);
    return result.modifiedCount;
  }

  /**
   * Removes a record that meets the conditions, and releases its unique values. Returns the removed record, or null.
   * With `expectedVersion` (If-Match) throws 412 for another version.
   */
  async remove(
    { accountId }: Scope,
    id: number,
    { where = {}, expectedVersion }: RemoveOptions = {},
  ): Promise<T | null> {
    const scope = { accountId };
    const version = expectedVersion === undefined ? {} : { version: expectedVersion };
    const filter = { ...where, ...version, _id: id, accountId };
    const removed = (await this.#collection.findOneAndDelete(filter)) as T | null;
    if (removed === null) {
      const now = expectedVersion === undefined ? null : await this.findOne(scope, { ...where, _id: id });
      // Even if the record has the expected version now, it had another one during the removal.
      if (now !== null) throw versionMismatch(now.version);
      return null;
    }
    await this.#uniqueValues.releaseAll(id, removed);
    this.#notifyChanged(scope, 'removed', [removed]);
    return removed;
  }

  #notifyChanged({ accountId }: Scope, action: RecordChange['action'], records: RecordChange['records']): void {
    this.#records.notifyChanged({ collection: this.name, accountId, action, records });
  }

  get #collection(): Collection<AccountRecord> {
    return this.#records.collection<AccountRecord>(this.name);
  }
}

const newestFirst: Sort = { field: 'id', direction: -1 };

/** Number of ids in one query. Filters with thousands of ids are slow to compare with documents. */
const queryBatchSize = 500;

/** Returns the order of a list in MongoDB's syntax; the id breaks ties. */
export const toSortOrder = ({ field, direction }: Sort = newestFirst): Record<string, 1 | -1> =>
  field === 'id' ? { _id: direction } : { [field]: direction, _id: direction };

/**
 * Returns the filter of the account's records and, if there are shared records, a second filter for them. Each has an
 * index; a disjunction has none.
 */
function visibilityFilters(scope: ReadScope, where: Filter): [object] | [object, object] {
  const { accountId, sharedIds = [], own = {} } = scope;
  const filter = tenantFilter(scope, where);
  if (sharedIds.length === 0) return [filter];
  const conditions = [{ _id: { $in: [...sharedIds] } }, { $nor: [{ accountId, ...own }] }];
  return [filter, Object.keys(where).length === 0 ? { $and: conditions } : { $and: [...conditions, where] }];
}

const tenantFilter = ({ accountId, own }: ReadScope, where: Filter): object =>
  own === undefined ? { ...where, accountId } : { $and: [where, own], accountId };

/**
 * Returns a condition for a case-insensitive substring of any of the fields. The text is escaped, never used as a
 * pattern.
 */
export function substringFilter(text: string | undefined, fields: readonly string[]): Filter {
  if (text === undefined || text === '') return {};
  const pattern = { $regex: text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`), $options: 'i' };
  return { $or: fields.map((field) => ({ [field]: pattern })) };
}
