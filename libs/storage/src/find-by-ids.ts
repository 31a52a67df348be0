import type { Collection, Document, Filter, WithId } from 'mongodb';

/** Looked up at the same time. */
const atOnce = 32;

/**
 * The documents with these ids that are there, in no particular order. They are looked up one by one: for a list of ids FerretDB 1 reads the whole collection, however
 * short the list is.
 */
export async function findByIds<T extends Document & { readonly _id: string | number }>(
  collection: Collection<T>,
  ids: readonly T['_id'][],
): Promise<WithId<T>[]> {
  const found: WithId<T>[] = [];
  for (let at = 0; at < ids.length; at += atOnce) {
    const part = ids.slice(at, at + atOnce);
    const each = await Promise.all(part.map((_id) => collection.findOne({ _id } as Filter<T>)));
    found.push(...each.filter((document) => document !== null));
  }
  return found;
}
