import {
  AppError,
  pageResponse,
  pageSchema,
  parseIfMatch,
  parseJsonBody,
  parsePagination,
  type RequestContext,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { isForm, parseForm } from '../../platform/forms.ts';
import { idParams } from '../../platform/schemas.ts';
import { deleteDocument, listDocuments, readDocument, readFile, toDocumentResponse } from './document-files.ts';
import { documentResponse, extractBody, extractResult, listDocumentsQuery, mimeTypes } from './schema.ts';
import { extractDocument } from './use-cases.ts';

/** Reads a JSON body or a form. The fields of a form are strings. */
async function readBody(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (!isForm(context)) {
    if (bytes.length === 0) throw new AppError('validation_failed', 'A body is required.');
    return parseJsonBody(bytes);
  }
  const { fields, files } = await parseForm(bytes, context);
  const { store, ...others } = fields;
  const file = files.find(({ name }) => name === 'file');
  return {
    ...others,
    ...(store === undefined ? {} : { store: store === 'true' || (store === 'false' ? false : store) }),
    ...(file === undefined ? {} : { file }),
  };
}

const tags = ['Documents'];

export const documentRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/devices/extract-document',
    operationId: 'extractDocument',
    summary: 'Extract the fields of a document',
    description:
      'Reads a licence, passport, card, registration or insurance. Accepts a file as multipart/form-data or base64, or text that the client has read (including the text of a PDF417 barcode), but no URL. The file is stored only with `store`.',
    tags,
    bucket: 'extraction',
    timeoutMs: 60_000,
    body: extractBody,
    bodyTypes: ['application/json', 'multipart/form-data'],
    // Base64 of 10 MiB is a third longer.
    bodyLimitBytes: 14 * 1024 * 1024,
    readBody,
    response: singleSchema(extractResult),
    errors: {
      413: 'The file is larger than 10 MiB, or the picture has too many pixels.',
      422: 'The document contains no readable fields.',
      502: 'The OCR service failed.',
      503: 'No OCR engine is configured, or the engine is busy.',
    },
    handle: async ({ body, context }) => ({
      data: await extractDocument(deps, getCaller(context), body, context.signal),
    }),
  }),
  ...storedRoutes(deps),
];

const access = { permission: 'fleet', scope: 'read' } as const;

/** Routes of files that were stored with `store`. */
const storedRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'get',
    path: '/documents',
    operationId: 'listDocuments',
    summary: 'List stored documents',
    description: 'Lists files that were stored with `store`.',
    tags,
    access,
    query: listDocumentsQuery,
    response: pageSchema(documentResponse),
    handle: async ({ query, context }) => {
      const paging = parsePagination(query);
      const { items, total } = await listDocuments(deps, getCaller(context), query, paging);
      return pageResponse({ items: items.map(toDocumentResponse), total }, paging);
    },
  }),
  platformRoute({
    method: 'get',
    path: '/documents/:id',
    operationId: 'getDocument',
    summary: 'Get a stored document',
    description: 'Returns the record without the content of the file.',
    tags,
    access,
    params: idParams,
    response: singleSchema(documentResponse),
    handle: async ({ params, context }) => ({
      data: toDocumentResponse(await readDocument(deps, getCaller(context), params.id)),
    }),
  }),
  platformRoute({
    method: 'get',
    path: '/documents/:id/file',
    operationId: 'getDocumentFile',
    summary: 'Download the file of a document',
    description: 'Each download is recorded in the audit log.',
    tags,
    access,
    params: idParams,
    contentType: [...mimeTypes],
    handle: async ({ params, context }) => {
      const { content, mimeType } = await readFile(deps, getCaller(context), params.id);
      const extension = mimeType.split('/')[1] ?? '';
      context.response
        .set('Cache-Control', 'private, no-store')
        .set('X-Content-Type-Options', 'nosniff')
        .set('Content-Disposition', `attachment; filename="document-${params.id}.${extension}"`)
        .type(mimeType)
        .send(content);
    },
  }),
  platformRoute({
    method: 'delete',
    path: '/documents/:id',
    operationId: 'deleteDocument',
    summary: 'Delete a stored document',
    tags,
    params: idParams,
    response: singleSchema(documentResponse),
    errors: versionMismatchErrors,
    handle: async ({ params, context }) => ({
      data: toDocumentResponse(await deleteDocument(deps, getCaller(context), params.id, parseIfMatch(context))),
    }),
  }),
];
