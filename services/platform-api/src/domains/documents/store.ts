import type { Database } from '@fleet/storage';
import { AccountRecords, type Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { DocumentFile, StoredDocument } from './schema.ts';

export const documentsIn = (records: Records): AccountRecords<StoredDocument> =>
  new AccountRecords<StoredDocument>(records, 'documents');

const filesIn = (database: Database) => database.collection<DocumentFile>('document_files');

export async function insertFile(database: Database, file: DocumentFile): Promise<void> {
  await filesIn(database).insertOne(file);
}

/** The sealed bytes of a document, or null. */
export async function findFile(database: Database, { accountId }: Scope, id: number): Promise<Buffer | null> {
  const options = { promoteBuffers: true };
  const file = await filesIn(database).findOne({ _id: id, accountId }, options);
  return file?.sealed ?? null;
}

export async function removeFile(database: Database, { accountId }: Scope, id: number): Promise<void> {
  await filesIn(database).deleteOne({ _id: id, accountId });
}
