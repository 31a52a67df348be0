import { setTimeout as delay } from 'node:timers/promises';
import { BusError, callUseCase, createPreview, type MediaPreview } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { publishMedia } from './record.ts';
import { deleteReplica } from './removal.ts';
import type { FileLocation, Media, Preview } from './schema.ts';
import { claimPreview, findMedia, listDuePreviews, setPreviewDue, updateMedia } from './store.ts';
import { hasThumbnail, isPreviewRunning } from './thumbnail-state.ts';

type PreviewDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

const claimMs = 60_000;
/** A file that kills ffmpeg, or whose server is unavailable, is given up afterwards. */
const maxAttempts = 6;
/** Delay of a retry: doubled with each attempt. */
const retryMs = 60_000;
const batchSize = 20;
const requestTimeoutMs = 40_000;
/** A request for a thumbnail waits for it this long. */
const thumbnailWaitMs = 15_000;
const pollIntervalMs = 200;

/** Returns the fields of a new file: pictures and videos get a preview. */
export const newPreviewFields = (kind: Media['kind']): Pick<Media, 'preview' | 'previewDueAt' | 'previewAttempts'> => ({
  preview: null,
  previewDueAt: kind === 'image' || kind === 'video' ? new Date() : null,
  previewAttempts: 0,
});

/**
 * Creates the thumbnail of a new file and returns its record, unchanged if there is none within `timeoutMs`: a job
 * retries then. An attempt before the time of that retry does not count. Never throws for a fault of the server of the
 * file.
 */
export async function createMediaPreview(
  deps: PreviewDeps,
  media: Media,
  timeoutMs = requestTimeoutMs,
): Promise<Media> {
  const { previewDueAt: formerDueAt = null, previewAttempts = 0 } = media;
  if (formerDueAt === null) return media;
  const nowMs = Date.now();
  const isEarly = formerDueAt.getTime() > nowMs;
  const attempts = isEarly ? previewAttempts : previewAttempts + 1;
  if (!(await claimPreview(deps.records, media, { until: new Date(nowMs + claimMs), attempts }))) return media;
  try {
    const found = await requestPreview(deps, media, timeoutMs);
    return await savePreview(deps, media, found);
  } catch (error) {
    if (!(error instanceof BusError || error instanceof AppError)) throw error;
    const isLast = (!isEarly && attempts >= maxAttempts) || isMissing(error);
    deps.log.info({ err: error, mediaId: media._id, isLast }, 'could not create a thumbnail');
    const dueAt = isEarly ? formerDueAt : new Date(Date.now() + retryMs * 2 ** previewAttempts);
    await setPreviewDue(deps.records, media, isLast ? null : dueAt);
    return media;
  }
}

/**
 * Returns the thumbnail of a file; creates it, or waits for the process that does. Throws 404 if it has none, and 503 if
 * it cannot be created at the moment.
 */
export async function requireThumbnail(deps: PreviewDeps, media: Media): Promise<Preview['thumbnail']> {
  const deadlineMs = performance.now() + thumbnailWaitMs;
  let current: Media | null = media;
  let isTried = false;
  while (current !== null && hasThumbnail(current)) {
    if ((current.preview ?? null) !== null) return (current.preview as Preview).thumbnail;
    const remainingMs = Math.round(deadlineMs - performance.now());
    const isRunning = isPreviewRunning(current, new Date());
    if (remainingMs <= 0 || (isTried && !isRunning)) throw thumbnailLateError();
    if (isRunning) await delay(pollIntervalMs);
    else {
      isTried = true;
      const changed = await createMediaPreview(deps, current, remainingMs);
      if ((changed.preview ?? null) !== null) publishMedia(deps.bus, changed);
    }
    current = await findMedia(deps.records, media._id);
  }
  throw new AppError('not_found', `File ${media._id} has no thumbnail: it contains no readable picture.`);
}

const thumbnailLateError = (): AppError =>
  new AppError('unavailable', 'The thumbnail cannot be created at the moment. Retry.', {
    headers: { 'Retry-After': '10' },
  });

const isMissing = (error: unknown): boolean => error instanceof AppError && error.code === 'not_found';

async function requestPreview(
  { bus, database }: PreviewDeps,
  { file, clip }: Media,
  timeoutMs: number,
): Promise<Preview | null> {
  const target = file === null ? await findClip(database, clip?.uploadId ?? '') : toTarget(file);
  const { server, imei, source } = target;
  const { preview } = await callUseCase(bus, createPreview(server), { imei, source }, { timeoutMs });
  return preview === null ? null : toPreview(imei, preview);
}

const toTarget = ({ server, imei, fileId }: FileLocation) => ({ server, imei, source: { fileId } });

async function findClip(database: Deps['database'], uploadId: string) {
  const upload = await new UploadRepository(database).find(uploadId);
  if (upload?.server === undefined || upload.server === null)
    throw new AppError('not_found', `There is no upload ${uploadId}.`);
  return { server: upload.server.podId, imei: upload.clip.imei, source: { uploadId } };
}

const toPreview = (imei: string, { thumbnail, ...properties }: MediaPreview): Preview => {
  const { fileId, server, width, height } = thumbnail;
  return { ...properties, thumbnail: { file: { imei, fileId, server }, width, height } };
};

async function savePreview(deps: PreviewDeps, media: Media, found: Preview | null): Promise<Media> {
  const preview = found === null || media.kind === 'video' ? found : { ...found, durationMs: null };
  if (preview === null) {
    await setPreviewDue(deps.records, media, null);
    return media;
  }
  const saved = await updateMedia(deps.records, media, media._id, {
    preview,
    previewDueAt: null,
    isPreviewRunning: false,
  });
  if (saved !== null) return saved;
  // The file was removed concurrently.
  const about = { key: `${media.mediaKey}#thumbnail`, accountId: media.accountId };
  await deleteReplica(deps, preview.thumbnail.file, about);
  return media;
}

/** Creates the previews that a crash or an outage left, and those of files from earlier releases. */
export async function createDuePreviews(deps: PreviewDeps, { isOver }: JobSlice = unlimited): Promise<null> {
  while (!isOver()) {
    const due = await listDuePreviews(deps.records, new Date(), batchSize);
    if (due.length === 0) break;
    for (const media of due) {
      if (isOver()) break;
      const changed = await createMediaPreview(deps, media);
      if ((changed.preview ?? null) !== null) publishMedia(deps.bus, changed);
    }
  }
  return null;
}
