import { type Collection, type Document, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import { isDuplicateKey } from './mongo.ts';

const duplicateKey = 11_000;

/** Inserts the documents whose unique values are free, in one go; answers the places in the list of those whose are taken. */
export async function insertNew<T extends Document>(
  collection: Collection<T>,
  documents: readonly OptionalUnlessRequiredId<T>[],
): Promise<number[]> {
  if (documents.length === 0) return [];
  try {
    await collection.insertMany([...documents], { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || !isDuplicateKey(error)) throw error;
    const faults = [error.writeErrors].flat();
    // A write that is not confirmed as it was asked for is no success, whatever else was taken already.
    if (faults.some(({ code }) => code !== duplicateKey) || error.result.getWriteConcernError() !== undefined)
      throw error;
    return faults.map(({ index }) => index);
  }
}
