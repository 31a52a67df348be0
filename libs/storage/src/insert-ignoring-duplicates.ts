import { type Collection, type Document, MongoBulkWriteError, type OptionalUnlessRequiredId } from 'mongodb';
import { isDuplicateKey } from './mongo.ts';

const duplicateKeyCode = 11_000;

/**
 * Inserts the documents whose unique values are free, with one command. Returns the list positions of the duplicates.
 */
export async function insertIgnoringDuplicates<T extends Document>(
  collection: Collection<T>,
  documents: readonly OptionalUnlessRequiredId<T>[],
): Promise<number[]> {
  if (documents.length === 0) return [];
  try {
    await collection.insertMany([...documents], { ordered: false });
    return [];
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError) || !isDuplicateKey(error)) throw error;
    const writeErrors = [error.writeErrors].flat();
    // A write without the requested confirmation has not succeeded, whatever else was a duplicate.
    if (writeErrors.some(({ code }) => code !== duplicateKeyCode) || error.result.getWriteConcernError() !== undefined)
      throw error;
    return writeErrors.map(({ index }) => index);
  }
}
