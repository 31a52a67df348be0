import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Collection } from '@fleet/storage';
import type { RecordFields } from './record-store.ts';

/** The fields of a record that determine its order. */
type OrderKey = Readonly<Record<string, unknown>> & { readonly _id: number };

/**
 * Returns one page of two lists merged in one order. The filters must have no record in common. Each list is read
 * through its own index: a disjunction would read and sort both lists as a whole.
 */
export async function findUnionPage<T extends RecordFields>(
  collection: Collection<T>,
  filters: readonly [object, object],
  sorting: Sort,
  paging?: Pagination,
): Promise<Page<T>> {
  const [first, second] = await Promise.all(filters.map((filter) => collection.countDocuments(filter)));
  const counts = [first ?? 0, second ?? 0] as const;
  const total = counts[0] + counts[1];
  const { offset, limit } = paging ?? { offset: 0, limit: total };
  const size = Math.min(limit, total - offset);
  if (size <= 0) return { items: [], total };
  // Reads the second half from the end, so that fewer keys are skipped.
  const isReversed = offset + size > total / 2;
  const direction = isReversed ? (-sorting.direction as 1 | -1) : sorting.direction;
  const skip = isReversed ? total - offset - size : offset;
  const lists = filters.map((filter) => new SortedList<T>(collection, filter, { ...sorting, direction }));
  const [one, other] = lists as [SortedList<T>, SortedList<T>];
  const split = await findSplit(one, other, counts, skip);
  const found = await Promise.all([one.read(split, size), other.read(skip - split, size)]);
  const items = found
    .flat()
    .toSorted((a, b) => one.compare(a as unknown as OrderKey, b as unknown as OrderKey))
    .slice(0, size);
  return { items: isReversed ? items.toReversed() : items, total };
}

/** Returns how many of the first `skip` records of the merged list come from the first list, by binary search. */
async function findSplit<T extends RecordFields>(
  first: SortedList<T>,
  second: SortedList<T>,
  [firstCount, secondCount]: readonly [number, number],
  skip: number,
): Promise<number> {
  let low = Math.max(0, skip - secondCount);
  let high = Math.min(firstCount, skip);
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [a, b] = await Promise.all([first.keyAt(middle), second.keyAt(skip - middle - 1)]);
    // Records may have been removed since the count, so the page is as exact as pages of a changing list are.
    if (a !== undefined && b !== undefined && first.compare(a, b) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

class SortedList<T extends RecordFields> {
  readonly #collection: Collection<T>;
  readonly #filter: object;
  readonly #sorting: Sort;

  constructor(collection: Collection<T>, filter: object, { field, direction }: Sort) {
    this.#collection = collection;
    this.#filter = filter;
    this.#sorting = { field: field === 'id' ? '_id' : field, direction };
  }

  async read(skip: number, limit: number): Promise<T[]> {
    return (await this.#collection
      .find(this.#filter)
      .sort(this.#order)
      .skip(skip)
      .limit(limit)
      .toArray()) as unknown as T[];
  }

  async keyAt(skip: number): Promise<OrderKey | undefined> {
    const projection = { _id: 1, [this.#sorting.field]: 1 };
    const found = this.#collection.find(this.#filter, { projection }).sort(this.#order).skip(skip).limit(1);
    return (await found.toArray())[0] as unknown as OrderKey | undefined;
  }

  compare(a: OrderKey, b: OrderKey): number {
    return compareRecords(a, b, this.#sorting);
  }

  get #order(): Record<string, 1 | -1> {
    const { field, direction } = this.#sorting;
    return { [field]: direction, _id: direction };
  }
}

/** Compares two records as MongoDB sorts them: by a field, and by `_id` if that is equal. */
export function compareRecords(a: OrderKey, b: OrderKey, { field, direction }: Sort): number {
  return direction * (compareValues(a[field], b[field]) || a._id - b._id);
}

/** Compares values of one type; null and missing values come first. Strings are compared by their UTF-8 bytes. */
function compareValues(a: unknown, b: unknown): number {
  const [hasValue, otherHasValue] = [a, b].map((value) => Number(value !== null && value !== undefined));
  if (hasValue === 0 || otherHasValue === 0) return (hasValue ?? 0) - (otherHasValue ?? 0);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}
