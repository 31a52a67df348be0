import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb';
import { Batcher } from './batcher.ts';
import { findByIds } from './find-by-ids.ts';
import { insertNew } from './insert-new.ts';
import { writeInBulk } from './mongo.ts';

/** Returns a batcher of inserts; the result is false for a document whose `_id` exists. */
export const insertsOf = <T extends Document & { readonly _id: string }>(
  collection: Collection<T>,
): Batcher<T, boolean> =>
  new Batcher(async (documents) => {
    const taken = new Set(await insertNew(collection, documents as never));
    return documents.map((_document, at) => !taken.has(at));
  });

/** Returns a batcher of updates and deletions. */
export const writesOf = <T extends Document>(collection: Collection<T>): Batcher<AnyBulkWriteOperation<T>, void> =>
  new Batcher<AnyBulkWriteOperation<T>, void>(async (operations) => {
    await writeInBulk(collection, operations);
    return operations.map(() => undefined);
  });

/** Returns a batcher of reads by `_id`. */
export const readsOf = <T extends Document & { readonly _id: string }>(
  collection: Collection<T>,
): Batcher<string, T | null> =>
  new Batcher(async (ids) => {
    const found = new Map((await findByIds(collection, ids)).map((each) => [each._id as string, each as T]));
    return ids.map((id) => found.get(id) ?? null);
  });
