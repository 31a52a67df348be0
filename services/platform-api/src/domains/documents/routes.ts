import { AppError, oneOf, parseJsonBody, type RequestContext } from '@fleet/service-kit';
import { callerOf } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../deps.ts';
import { isForm, readForm } from '../../http/forms.ts';
import { extractBody, extractResult } from './schema.ts';
import { extractDocument } from './use-cases.ts';

/** A form's fields are text. */
async function readBody(bytes: Buffer, context: RequestContext): Promise<unknown> {
  if (!isForm(context)) {
    if (bytes.length === 0) throw new AppError('validation_failed', 'A body is required.');
    return parseJsonBody(bytes);
  }
  const { fields, files } = await readForm(bytes, context);
  const { store, ...others } = fields;
  const file = files.find(({ name }) => name === 'file');
  return {
    ...others,
    ...(store === undefined ? {} : { store: store === 'true' || (store === 'false' ? false : store) }),
    ...(file === undefined ? {} : { file }),
  };
}

export const documentRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/devices/extract-document',
    operationId: 'extractDocument',
    summary: 'Read the fields of a licence, passport, card, registration or insurance',
    description:
      'A file as multipart/form-data or base64, or text that was read elsewhere (also the text of a PDF417 barcode); never a URL. A file is kept only with `store`.',
    tags: ['Documents'],
    bucket: 'extraction',
    limitMs: 60_000,
    body: extractBody,
    bodyTypes: ['application/json', 'multipart/form-data'],
    // Base64 is a third longer than the 10 MiB that it holds.
    bodyLimitBytes: 14 * 1024 * 1024,
    readBody,
    response: oneOf(extractResult),
    errors: {
      422: 'Nothing in the document can be read.',
      502: 'The service that reads text from pictures failed.',
      503: 'No engine that reads text from pictures is configured, or it is busy.',
    },
    handle: async ({ body, context }) => ({ data: await extractDocument(deps, callerOf(context), body) }),
  }),
];
