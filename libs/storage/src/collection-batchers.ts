import type { AnyBulkWriteOperation, Collection, Document } from 'mongodb';
import { Batcher } from './batcher.ts';
import { findByIds } from './find-by-ids.ts';
import { insertIgnoringDuplicates } from './insert-ignoring-duplicates.ts';
import { writeInBulk } from './mongo.ts';

/** Returns a batcher of inserts; the result is false for a document whose `_id` exists. */
export const createInsertBatcher = <T extends Document & { readonly _id: string }>(
  collection: Collection<T>,
): Batcher<T, boolean> =>
  new Batcher(async (documents) => {
    const duplicates = new Set(await insertIgnoringDuplicates(collection, documents as never));
    return documents.map((_document, index) => !duplicates.has(index));
  });

/** Returns a batcher of updates and deletions. */
export const createWriteBatcher = <T extends Document>(
  collection: Collection<T>,
): Batcher<AnyBulkWriteOperation<T>, void> =>
  new Batcher<AnyBulkWriteOperation<T>, void>(async (operations) => {
    await writeInBulk(collection, operations);
    return operations.map(() => undefined);
  });

/** Returns a batcher of reads by `_id`. */
export const createReadBatcher = <T extends Document & { readonly _id: string }>(
  collection: Collection<T>,
): Batcher<string, T | null> =>
  new Batcher(async (ids) => {
    const documentsById = new Map(
      (await findByIds(collection, ids)).map((document) => [document._id as string, document as T]),
    );
    return ids.map((id) => documentsById.get(id) ?? null);
  });
