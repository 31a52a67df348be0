import { setTimeout as delay } from 'node:timers/promises';
import {
  AppError,
  type ClipFormat,
  type ClipPath,
  clipFormats,
  defineRoute,
  type RequestContext,
  verifyClipPath,
} from '@fleet/service-kit';
import type { UploadRecord, UploadRecords } from '@fleet/storage';
import { Type } from 'typebox';
import { type ClipContent, mp4Content, originalContent } from '../clips/clip-content.ts';
import { ClipGoneError, type ClipStorage } from '../clips/clip-storage.ts';
import type { Mp4Maker } from '../clips/mp4-maker.ts';
import { sendContent } from '../clips/send-content.ts';
import { authorise } from './signed.ts';

export interface ClipRouteDeps {
  readonly records: Pick<UploadRecords, 'find'>;
  /** Where an upload's files are now. */
  readonly storageOf: (upload: UploadRecord) => ClipStorage;
  readonly maker: Mp4Maker;
  readonly signingSecret: string;
  /** How long a caller waits for an MP4 that is being made. */
  readonly mp4WaitMs: number;
}

const params = Type.Object({
  uploadId: Type.String({ pattern: '^[0-9a-f]{24}$' }),
  format: Type.Union(clipFormats.map((format) => Type.Literal(format))),
});
const query = Type.Object({
  expires: Type.Optional(Type.String({ description: 'Unix seconds' })),
  signature: Type.Optional(Type.String({ description: 'hex HMAC-SHA256 of clip/<uploadId>/<format>/<expires>' })),
});

/** GET /clips/<upload>/<original|mp4>: the video of a completed upload, for services that have signed the URL. */
export const clipRoute = (deps: ClipRouteDeps) =>
  defineRoute({
    method: 'get',
    path: '/clips/:uploadId/:format',
    operationId: 'getClip',
    summary: 'Video of a completed upload',
    params,
    query,
    contentType: 'application/octet-stream',
    otherSuccesses: { 206: 'the range that was asked for' },
    errors: {
      401: 'no signature',
      403: 'bad signature',
      404: 'no such upload, or its files are gone',
      409: 'not completed',
      416: 'nothing of the range is there',
      422: 'no MP4 can be made of it',
      503: 'the MP4 is being made',
    },
    handle: async ({ params, query, context }) => {
      const path: ClipPath = { uploadId: params.uploadId, format: params.format };
      authorise(verifyClipPath(deps.signingSecret, path, query), 'a clip');
      await sendContent(await contentOf(deps, path, context), context);
    },
  });

/** Between the look at the record and the look at the files they may have been moved to object storage: so it looks twice. */
async function contentOf(deps: ClipRouteDeps, path: ClipPath, context: RequestContext): Promise<ClipContent> {
  const upload = await completedUpload(deps, path.uploadId);
  try {
    return await openContent(deps, upload, path.format);
  } catch (error) {
    if (!(error instanceof ClipGoneError)) throw error;
    const again = await completedUpload(deps, path.uploadId);
    if (again.server?.podId === upload.server?.podId) throw gone(error);
    context.log.debug({ uploadId: path.uploadId }, 'a clip has moved meanwhile');
    return openContent(deps, again, path.format).catch((cause: unknown) => {
      throw cause instanceof ClipGoneError ? gone(cause) : cause;
    });
  }
}

const gone = (cause: ClipGoneError): AppError =>
  new AppError('not_found', 'The files of this upload are not there.', { cause });

async function completedUpload(deps: ClipRouteDeps, id: string): Promise<UploadRecord> {
  const upload = await deps.records.find(id);
  if (upload === null || upload.status === 'reserved')
    throw new AppError('not_found', 'There is no upload with this video_id.');
  if (upload.status !== 'completed')
    throw new AppError('state_conflict', `The upload is ${upload.status}: only a completed one can be downloaded.`);
  return upload;
}

async function openContent(deps: ClipRouteDeps, upload: UploadRecord, format: ClipFormat): Promise<ClipContent> {
  const storage = deps.storageOf(upload);
  if (format === 'original') return originalContent(upload, storage);
  const wait = new AbortController();
  const late = delay(deps.mp4WaitMs, undefined, { signal: wait.signal }).then(() => {
    throw new AppError('unavailable', 'The MP4 is being made and is not ready yet: ask again.', {
      headers: { 'Retry-After': '5' },
    });
  });
  try {
    return mp4Content(upload, storage, await Promise.race([deps.maker.mp4Of(upload, storage), late]));
  } finally {
    wait.abort();
    late.catch(() => undefined);
  }
}
