import { AppError, defineRoute, type FilePath, type RequestContext, verifyFilePath } from '@fleet/service-kit';
import { Type } from 'typebox';
import { ClipNotFoundError } from '../clips/clip-storage.ts';
import { sendContent } from '../clips/send-content.ts';
import { type MediaSources, openMediaContent } from '../media/media-content.ts';
import { authorize } from './authorize.ts';

interface FileRouteDeps {
  readonly sources: MediaSources;
  readonly signingSecret: string;
}

const params = Type.Object({
  imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
  fileId: Type.String({ pattern: '^[0-9a-f]{24}$' }),
});
const query = Type.Object({
  expires: Type.Optional(Type.String({ description: 'Unix seconds' })),
  signature: Type.Optional(Type.String({ description: 'hex HMAC-SHA256 of file/<imei>/<fileId>/<expires>' })),
});

// GET /files/<imei>/<fileId>: a picture of a terminal or an attachment of an alarm, for services that sign the URL.
export const fileRoute = ({ sources, signingSecret }: FileRouteDeps) =>
  defineRoute({
    method: 'get',
    path: '/files/:imei/:fileId',
    operationId: 'getFile',
    summary: 'Download a file from a terminal',
    params,
    query,
    contentType: 'application/octet-stream',
    extraSuccesses: { 206: 'the requested range' },
    errors: {
      401: 'no signature',
      403: 'invalid signature',
      404: 'no such file on this pod',
      416: 'the range lies outside the file',
    },
    handle: async ({ params, query, context }) => {
      authorize(verifyFilePath(signingSecret, params, query), 'a file');
      await sendFile(sources, params, context);
    },
  });

/** Sends a file. It may move to object storage between finding it and reading its first byte, so this tries twice. */
async function sendFile(sources: MediaSources, path: FilePath, context: RequestContext): Promise<void> {
  for (const isLast of [false, true]) {
    const content = await openMediaContent(sources, path).catch(movedOrThrow(isLast));
    if (content === null) throw new AppError('not_found', 'There is no such file.');
    const isSent = content !== 'moved' && (await sendContent(content, context).catch(movedOrThrow(isLast))) !== 'moved';
    if (isSent) return;
  }
}

const movedOrThrow =
  (isLast: boolean) =>
  (error: unknown): 'moved' => {
    if (!(error instanceof ClipNotFoundError)) throw error;
    if (isLast) throw new AppError('not_found', 'There is no such file.', { cause: error });
    return 'moved';
  };
