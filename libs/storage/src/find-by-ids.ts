import type { Collection, Document, Filter, WithId } from 'mongodb';

/** Ids of one query: a few thousand make a large command, and single ids make thousands of round trips. */
const batchSize = 500;

/** Returns the existing documents with these ids, in no particular order. */
export async function findByIds<T extends Document & { readonly _id: string | number }>(
  collection: Collection<T>,
  ids: readonly T['_id'][],
): Promise<WithId<T>[]> {
  const found: WithId<T>[] = [];
  for (let offset = 0; offset < ids.length; offset += batchSize) {
    const filter = { _id: { $in: ids.slice(offset, offset + batchSize) } } as Filter<T>;
    for (const document of await collection.find(filter).toArray()) found.push(document);
  }
  return found;
}
