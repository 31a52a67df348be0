import {
  AppError,
  pageResponse,
  pageSchema,
  parseIfMatch,
  parseJsonBody,
  parsePagination,
  Reply,
  type RequestContext,
  singleSchema,
  versionMismatchErrors,
} from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { isForm, parseForm } from '../../platform/forms.ts';
import { idParams } from '../../platform/schemas.ts';
import {
  createDocument,
  deleteDocument,
  listDocuments,
  readDocument,
  readFile,
  toDocumentResponse,
} from './document-files.ts';
import {
  createDocumentBody,
  documentResponse,
  extractBody,
  extractResult,
  listDocumentsQuery,
  mimeTypes,
} from './schema.ts';
import { extractDocument } from './use-cases.ts';

/** Reads a JSON body or a form. The fields of a form are strings. */
async function readBody(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (!isForm(context)) {
    if (bytes.length === 0) throw new AppError('validation_failed', 'A body is required.');
    return parseJsonBody(bytes);
  }
  const { fields, files } = await parseForm(bytes, context);
  const { store, driver_id: driverId, ...others } = fields;
  const file = files.find(({ name }) => name === 'file');
  return {
    ...others,
    ...(store === undefined ? {} : { store: store === 'true' || (store === 'false' ? false : store) }),
    ...(driverId === undefined ? {} : { driver_id: Number(driverId) }),
    ...(file === undefined ? {} : { file }),
  };
}

const tags = ['Documents'];

/** Files in a form or in base64, which is a third longer than 10 MiB. */
const fileUpload = {
  bodyTypes: ['application/json', 'multipart/form-data'],
  bodyLimitBytes: 14 * 1024 * 1024,
  readBody,
} as const;

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
    ...fileUpload,
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

/** Routes of stored files. */
const storedRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/documents',
    operationId: 'createDocument',
    summary: 'Store a document',
    description:
      'Stores a file, encrypted, without reading it. Accepts multipart/form-data or base64. `driver_id` assigns it to a driver.',
    tags,
    isIdempotent: true,
    body: createDocumentBody,
    ...fileUpload,
    response: singleSchema(documentResponse),
    extraSuccesses: { 201: 'Created; `Location` is the path of the document.' },
    errors: {
      404: 'The driver does not exist.',
      413: 'The file is larger than 10 MiB, or the picture has too many pixels.',
      422: 'The file is neither a supported picture nor a PDF.',
    },
    handle: async ({ body, context }) => {
      const document = await createDocument(deps, getCaller(context), body);
      return new Reply(201, { data: toDocumentResponse(document) }, { Location: `/api/documents/${document._id}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/documents',
    operationId: 'listDocuments',
    summary: 'List stored documents',
    description: 'Lists stored files, without their content.',
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
