import {
  AppError,
  type ClipFormat,
  type ClipPath,
  clipFormats,
  defineRoute,
  type RequestContext,
  verifyClipPath,
} from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';
import { Type } from 'typebox';
import { type ClipContent, openMp4, openOriginal, toUploadRef } from '../clips/clip-content.ts';
import { ClipNotFoundError, type ClipStorage } from '../clips/clip-storage.ts';
import type { Mp4Jobs } from '../clips/mp4-jobs.ts';
import { sendContent } from '../clips/send-content.ts';
import { authorize } from './authorize.ts';

interface ClipRouteDeps {
  readonly records: Pick<UploadRepository, 'find'>;
  /** Returns the storage that currently holds an upload's files. */
  readonly findStorage: (upload: UploadRecord) => ClipStorage;
  readonly jobs: Pick<Mp4Jobs, 'convert'>;
  readonly signingSecret: string;
  /** Maximum time that a request waits for an MP4 conversion. */
  readonly mp4TimeoutMs: number;
}

const params = Type.Object({
  uploadId: Type.String({ pattern: '^[0-9a-f]{24}$' }),
  format: Type.Union(clipFormats.map((format) => Type.Literal(format))),
});
const query = Type.Object({
  expires: Type.Optional(Type.String({ description: 'Unix seconds' })),
  signature: Type.Optional(Type.String({ description: 'hex HMAC-SHA256 of clip/<uploadId>/<format>/<expires>' })),
});

// GET /clips/<upload>/<original|mp4>: the video of a completed upload, for services that sign the URL.
export const clipRoute = (deps: ClipRouteDeps) =>
  defineRoute({
    method: 'get',
    path: '/clips/:uploadId/:format',
    operationId: 'getClip',
    summary: 'Download a completed clip',
    params,
    query,
    contentType: 'application/octet-stream',
    extraSuccesses: { 206: 'the requested range' },
    errors: {
      401: 'no signature',
      403: 'invalid signature',
      404: 'no such upload, or its files were removed',
      409: 'not completed',
      416: 'the range lies outside the file',
      422: 'the clip cannot be converted to MP4',
      503: 'the clip cannot be converted yet; retry later',
    },
    handle: async ({ params, query, context }) => {
      const path: ClipPath = { uploadId: params.uploadId, format: params.format };
      authorize(verifyClipPath(deps.signingSecret, path, query), 'a clip');
      await sendContent(await openContentWithRetry(deps, path, context), context);
    },
  });

/**
 * Opens the content of an upload. The files may move to object storage between reading the record and opening the
 * files, so it tries twice.
 */
async function openContentWithRetry(
  deps: ClipRouteDeps,
  path: ClipPath,
  context: RequestContext,
): Promise<ClipContent> {
  const upload = await findCompletedUpload(deps, path.uploadId);
  try {
    return await openContent(deps, upload, path.format);
  } catch (error) {
    if (!(error instanceof ClipNotFoundError)) throw error;
    const movedUpload = await findCompletedUpload(deps, path.uploadId);
    if (movedUpload.server?.podId === upload.server?.podId) throw createNotFoundError(error);
    context.log.debug({ uploadId: path.uploadId }, 'a clip was moved concurrently');
    return openContent(deps, movedUpload, path.format).catch((cause: unknown) => {
      throw cause instanceof ClipNotFoundError ? createNotFoundError(cause) : cause;
    });
  }
}

const createNotFoundError = (cause: ClipNotFoundError): AppError =>
  new AppError('not_found', 'The files of this upload no longer exist.', { cause });

async function findCompletedUpload(deps: ClipRouteDeps, id: string): Promise<UploadRecord> {
  const upload = await deps.records.find(id);
  if (upload === null || upload.status === 'reserved')
    throw new AppError('not_found', 'There is no upload with this video_id.');
  if (upload.status !== 'completed')
    throw new AppError('state_conflict', `The upload is ${upload.status}: only a completed one can be downloaded.`);
  return upload;
}

async function openContent(deps: ClipRouteDeps, upload: UploadRecord, format: ClipFormat): Promise<ClipContent> {
  const storage = deps.findStorage(upload);
  if (format === 'original') return openOriginal(upload, storage);
  const ref = toUploadRef(upload);
  const stored = await storage.find(ref, 'mp4');
  if (stored !== null) return openMp4(upload, storage, stored);
  // Without its files there is nothing to convert.
  await openOriginal(upload, storage);
  await deps.jobs.convert(upload._id, deps.mp4TimeoutMs);
  const converted = await deps.records.find(upload._id);
  const convertedStorage = converted === null ? storage : deps.findStorage(converted);
  const content = await convertedStorage.find(ref, 'mp4');
  if (content === null) throw new ClipNotFoundError('the MP4 no longer exists');
  return openMp4(upload, convertedStorage, content);
}
