import { BusError, callUseCase, createPreview, type MediaPreview } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { UploadRepository } from '@fleet/storage';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { publishMedia } from './record.ts';
import { deleteReplica } from './removal.ts';
import type { FileLocation, Media, Preview } from './schema.ts';
import { claimPreview, listDuePreviews, setPreviewDue, updateMedia } from './store.ts';

type PreviewDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

const claimMs = 60_000;
/** A file that kills ffmpeg, or whose server is unavailable, is given up afterwards. */
const maxAttempts = 6;
/** Delay of a retry: doubled with each attempt. */
const retryMs = 60_000;
const batchSize = 20;
const requestTimeoutMs = 40_000;

/** Returns the fields of a new file: pictures and videos get a preview. */
export const newPreviewFields = (kind: Media['kind']): Pick<Media, 'preview' | 'previewDueAt' | 'previewAttempts'> => ({
  preview: null,
  previewDueAt: kind === 'image' || kind === 'video' ? new Date() : null,
  previewAttempts: 0,
});

/**
 * Creates the thumbnail of a new file and returns its record, unchanged if there is none within `timeoutMs`: a job
 * retries then. Never throws for a fault of the server of the file.
 */
export async function createMediaPreview(
  deps: PreviewDeps,
  media: Media,
  timeoutMs = requestTimeoutMs,
): Promise<Media> {
  if ((media.previewDueAt ?? null) === null) return media;
  if (!(await claimPreview(deps.records, media, new Date(Date.now() + claimMs)))) return media;
  try {
    const found = await requestPreview(deps, media, timeoutMs);
    return await savePreview(deps, media, found);
  } catch (error) {
    if (!(error instanceof BusError || error instanceof AppError)) throw error;
    const isLast = (media.previewAttempts ?? 0) + 1 >= maxAttempts || isMissing(error);
    deps.log.info({ err: error, mediaId: media._id, isLast }, 'could not create a thumbnail');
    const dueAt = new Date(Date.now() + retryMs * 2 ** (media.previewAttempts ?? 0));
    await setPreviewDue(deps.records, media, isLast ? null : dueAt);
    return media;
  }
}

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
  const saved = await updateMedia(deps.records, media, media._id, { preview, previewDueAt: null });
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
