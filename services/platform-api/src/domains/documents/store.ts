import type { Database } from '@fleet/storage';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { DocumentFile, StoredDocument } from './schema.ts';

export const documentCollection = (records: RecordStore): AccountRepository<StoredDocument> =>
  new AccountRepository<StoredDocument>(records, 'documents');

const documentFileCollection = (database: Database) => database.collection<DocumentFile>('document_files');

export async function insertFile(database: Database, file: DocumentFile): Promise<void> {
  await documentFileCollection(database).insertOne(file);
}

/** Returns the sealed bytes of a document, or null. */
export async function findFile(database: Database, { accountId }: Scope, id: number): Promise<Buffer | null> {
  const options = { promoteBuffers: true };
  const file = await documentFileCollection(database).findOne({ _id: id, accountId }, options);
  return file?.sealed ?? null;
}

export async function removeFile(database: Database, { accountId }: Scope, id: number): Promise<void> {
  await documentFileCollection(database).deleteOne({ _id: id, accountId });
}
