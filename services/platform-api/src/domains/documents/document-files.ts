import { AppError, assertVersion, type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound, omitUndefined } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import { audit } from '../audit/use-cases.ts';
import { filterOwnDriverIds } from '../drivers/queries.ts';
import { parseFile } from './document-input.ts';
import type { CreateDocumentBody, DocumentResponse, ListDocumentsQuery, StoredDocument } from './schema.ts';
import { documentCollection, findFile, insertFile, removeFile } from './store.ts';

type DocumentDeps = Pick<Deps, 'records' | 'database' | 'encryption' | 'log'>;

/** Purpose of the encrypted bytes of a document. */
export const documentPurpose = (id: number): string => `document ${id}`;

/** A file to store. */
interface NewDocument extends Pick<StoredDocument, 'documentType' | 'mimeType'> {
  readonly driverId: number | null;
  readonly content: Buffer;
}

/** Stores the file of a request without reading it. Throws 404 unless the driver is one of the account. */
export async function createDocument(
  deps: DocumentDeps,
  caller: Caller,
  body: CreateDocumentBody,
): Promise<StoredDocument> {
  const { document_type: documentType, driver_id: driverId = null } = body;
  const { file, mimeType } = parseFile(body);
  if (driverId !== null) assertAllFound('driver', [driverId], await filterOwnDriverIds(deps, caller, [driverId]));
  return storeDocument(deps, caller, { documentType, driverId, content: file, mimeType });
}

/** Stores a file, sealed. */
export async function storeDocument(
  deps: DocumentDeps,
  caller: Caller,
  { documentType, driverId, content, mimeType }: NewDocument,
): Promise<StoredDocument> {
  const { accountId } = caller;
  const fields = { documentType, driverId, mimeType, sizeBytes: content.length, createdBy: caller.userId };
  const document = await documentCollection(deps.records).insert(caller, fields);
  const { _id } = document;
  try {
    const sealed = deps.encryption.sealBytes(content, documentPurpose(_id));
    await insertFile(deps.database, { _id, accountId, sealed });
  } catch (error) {
    await documentCollection(deps.records).remove(caller, _id);
    throw error;
  }
  await audit(deps, caller, 'documents.store', { type: 'documents', id: _id }, { document_type: documentType });
  return document;
}

/** Lists the stored files, without their content. */
export function listDocuments(
  { records }: Pick<DocumentDeps, 'records'>,
  caller: Caller,
  { document_type: documentType, driver_id: driverId, sort }: ListDocumentsQuery,
  paging: Pagination,
): Promise<Page<StoredDocument>> {
  const { field, direction } = parseSort(sort);
  const sorting = { field: field === 'created_at' ? 'createdAt' : field, direction };
  return documentCollection(records).list(caller, {
    where: omitUndefined({ documentType, driverId }),
    sorting,
    paging,
  });
}

export async function readDocument({ records }: Pick<DocumentDeps, 'records'>, caller: Caller, id: number) {
  const document = await documentCollection(records).find(caller, id);
  if (document === null) throw documentNotFoundError(id);
  return document;
}

/**
 * Returns the content of a stored file. Each access is recorded in the audit log, because these are personal papers.
 */
export async function readFile(
  deps: DocumentDeps,
  caller: Caller,
  id: number,
): Promise<{ readonly content: Buffer; readonly mimeType: string }> {
  const { mimeType } = await readDocument(deps, caller, id);
  const sealed = await findFile(deps.database, caller, id);
  if (sealed === null) throw documentNotFoundError(id);
  await audit(deps, caller, 'documents.read', { type: 'documents', id });
  return { content: deps.encryption.openBytes(sealed, documentPurpose(id)), mimeType };
}

/** Removes a stored file; returns its record before the removal. */
export async function deleteDocument(
  deps: DocumentDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<StoredDocument> {
  assertVersion(await readDocument(deps, caller, id), expectedVersion);
  await removeFile(deps.database, caller, id);
  const document = await documentCollection(deps.records).remove(caller, id, { expectedVersion });
  if (document === null) throw documentNotFoundError(id);
  await audit(deps, caller, 'documents.delete', { type: 'documents', id });
  return document;
}

const documentNotFoundError = (id: number): AppError => new AppError('not_found', `The document ${id} does not exist.`);

export const toDocumentResponse = (document: StoredDocument): DocumentResponse => ({
  ...toRecordResponse(document),
  document_type: document.documentType,
  mime_type: document.mimeType,
  size_bytes: document.sizeBytes,
  created_by: document.createdBy,
  driver_id: document.driverId ?? null,
  url: `/api/documents/${document._id}/file`,
});
