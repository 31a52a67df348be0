import { BusError, callUseCase, locateClip } from '@fleet/bus';
import {
  AppError,
  type ClipFormat,
  proxyUpstream,
  type RequestContext,
  signClipPath,
  signFilePath,
  upstreamUnreachable,
} from '@fleet/service-kit';
import { UploadRepository } from '@fleet/storage';
import { isPermitted } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { findKeyById } from '../api-keys/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { findUserById } from '../users/use-cases.ts';
import { sharedVehicle } from '../vehicle-shares/use-cases.ts';
import { mayViewVideo } from './access.ts';
import { requireThumbnail } from './previews.ts';
import type { FileQuery, Media } from './schema.ts';
import { findMedia } from './store.ts';
import { type UrlHolder, verifyMediaUrl } from './urls.ts';
import { mediaNotFoundError } from './use-cases.ts';

type FileDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'records' | 'redis' | 'stopped'>;

const resourceName = 'file';
const locateTimeoutMs = 3_000;
const proxyTimeoutMs = 30_000;
/** Above the time that upload-ftp waits for a conversion. */
const conversionTimeoutMs = 90_000;
const podUrlLifetimeMs = 60_000;
/** A player requests one video in many parts. Within this time they count as one view. */
const viewDedupeMs = 600_000;

/**
 * Streams a file, or the requested range of it, to a client that has its URL. The user of the URL must be permitted to
 * see the file.
 */
export async function openFile(deps: FileDeps, id: number, query: FileQuery, context: RequestContext): Promise<void> {
  const holder = verifyMediaUrl(deps, id, query);
  const media = await findMedia(deps.records, id);
  if (media === null) throw mediaNotFoundError(id);
  await assertMayView(deps, media, holder);
  const isThumbnail = query.thumbnail === '1';
  const { format = 'original' } = query;
  const url = isThumbnail
    ? await createThumbnailUrl(deps, media, context)
    : await createPodUrl(deps, media, { format, holder }, context);
  if (context.request.method === 'GET') await auditView(deps, media, holder, context);
  const headers = isThumbnail ? thumbnailHeaders : responseHeaders(media, query.download === '1');
  const timeoutMs = format === 'mp4' ? conversionTimeoutMs : proxyTimeoutMs;
  await proxyUpstream({ url, resourceName, timeoutMs, stopSignal: deps.stopped, headers }, context);
}

/**
 * Throws 403 if the user of the URL may no longer see the file. Permissions may have changed since the URL was created.
 */
async function assertMayView(deps: FileDeps, media: Media, { kind, id }: UrlHolder): Promise<void> {
  const mayView = kind === 'key' ? await mayKeyView(deps, media, id) : await mayUserView(deps, media, id);
  if (!mayView) throw new AppError('permission_denied', 'The user of this URL may no longer see the file.');
}

async function mayKeyView({ records }: FileDeps, { accountId }: Media, keyId: number): Promise<boolean> {
  const key = await findKeyById(records, { accountId }, keyId);
  return key !== null && key.scopes.includes('video') && (await isAccountActive(records, accountId));
}

async function mayUserView({ records }: FileDeps, media: Media, userId: number): Promise<boolean> {
  const user = await findUserById(records, userId);
  const isActive = user !== null && !user.disabled && (await isAccountActive(records, user.accountId));
  if (isActive && (await isAccountActive(records, media.accountId))) {
    const isOwn = user.accountId === media.accountId || user.role === 'superadmin';
    if (isOwn && mayViewVideo(user)) return true;
    const share = await sharedVehicle({ records }, { userId }, media.vehicleId);
    return share?.accountId === media.accountId && share.permissions.includes('history_video');
  }
  return false;
}

/** Throws 403 if the user of the URL may only see clips: an MP4 that does not exist yet has to be converted. */
async function assertMayConvert(deps: FileDeps, media: Media, { kind, id }: UrlHolder): Promise<void> {
  if (kind === 'key' || (await mayUserConvert(deps, media, id))) return;
  throw new AppError('permission_denied', 'The clip has no MP4, and the permission commands to convert it is missing.');
}

async function mayUserConvert({ records }: FileDeps, media: Media, userId: number): Promise<boolean> {
  const user = await findUserById(records, userId);
  const isOwn = user?.accountId === media.accountId || user?.role === 'superadmin';
  if (user !== null && isOwn && isPermitted(user.role, 'commands')) return true;
  return (await sharedVehicle({ records }, { userId }, media.vehicleId))?.permissions.includes('commands') ?? false;
}

/** Returns a short-lived URL of the pod that has the file. */
async function createPodUrl(
  deps: FileDeps,
  media: Media,
  { format, holder }: { readonly format: ClipFormat; readonly holder: UrlHolder },
  context: RequestContext,
): Promise<string> {
  const { CLIPS_SIGNING_SECRET: secret } = deps.config;
  const { file, clip } = media;
  const lifetimeMs = podUrlLifetimeMs;
  if (file !== null) {
    const baseUrl = await findPodUrl(deps, file.server, context);
    return signFilePath(secret, { imei: file.imei, fileId: file.fileId, baseUrl, lifetimeMs });
  }
  const upload = clip === null ? null : await new UploadRepository(deps.database).find(clip.uploadId);
  if (upload?.status !== 'completed' || upload.server === null) throw mediaNotFoundError(media._id);
  if (format === 'mp4' && upload.mp4?.status !== 'completed') await assertMayConvert(deps, media, holder);
  const baseUrl = await findPodUrl(deps, upload.server.podId, context);
  return signClipPath(secret, { uploadId: upload._id, format, baseUrl, lifetimeMs });
}

async function createThumbnailUrl(deps: FileDeps, media: Media, context: RequestContext): Promise<string> {
  const { file } = await requireThumbnail(deps, media);
  const baseUrl = await findPodUrl(deps, file.server, context);
  const { imei, fileId } = file;
  return signFilePath(deps.config.CLIPS_SIGNING_SECRET, { imei, fileId, baseUrl, lifetimeMs: podUrlLifetimeMs });
}

async function findPodUrl({ bus }: FileDeps, podId: string, context: RequestContext): Promise<string> {
  try {
    const options = { timeoutMs: locateTimeoutMs, correlationId: context.requestId };
    return (await callUseCase(bus, locateClip(podId), {}, options)).httpUrl;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw upstreamUnreachable(resourceName, cause);
  }
}

/** Records a view in the audit log, because pictures of a cabin are personal data (docs/reference/operations.md). */
async function auditView(deps: FileDeps, media: Media, holder: UrlHolder, context: RequestContext): Promise<void> {
  if (!(await isFirstView(deps, media, holder))) return;
  const { _id: id, accountId, vehicleId, channelId, kind } = media;
  const actor = {
    accountId,
    [holder.kind === 'key' ? 'keyId' : 'userId']: holder.id,
    ...(context.request.ip === undefined ? {} : { ip: context.request.ip }),
  };
  const detail = { vehicle_id: vehicleId, channel_id: channelId, kind };
  await audit(deps, actor, 'media.view', { type: 'media', id }, detail);
}

async function isFirstView({ redis, log }: FileDeps, { mediaKey }: Media, holder: UrlHolder): Promise<boolean> {
  const viewer = holder.kind === 'key' ? `key-${holder.id}` : holder.id;
  try {
    const expiration = { type: 'PX', value: viewDedupeMs } as const;
    return (await redis.set(`media-viewed:${mediaKey}:${viewer}`, '1', { condition: 'NX', expiration })) !== null;
  } catch (error) {
    log.warn({ err: error }, 'could not check whether a view was recorded');
    return true;
  }
}

/** File extensions that differ from the name of their type. */
const extensions: Readonly<Record<string, string>> = {
  'image/jpeg': 'jpg',
  'image/tiff': 'tif',
  'audio/mpeg': 'mp3',
  'video/mp2t': 'ts',
  'video/mpeg': 'mpg',
  'video/x-matroska': 'mkv',
  'video/x-ms-wmv': 'wmv',
  'video/x-msvideo': 'avi',
};
const fileExtension = (mimeType: string): string =>
  extensions[mimeType] ?? /^[a-z]+\/(?:x-)?([a-z0-9]{1,10})$/.exec(mimeType)?.[1] ?? 'bin';

const thumbnailHeaders = { 'Content-Type': 'image/jpeg', 'Content-Disposition': 'inline' } as const;

/** Types that browsers may display as a page of their own; all others are saved. */
const inlineTypes = /^(image\/(?!svg)|audio\/|video\/)/;

function responseHeaders({ _id, kind, channelId, takenAt, mimeType, clip }: Media, isDownload: boolean) {
  const isInline = !isDownload && (clip !== null || inlineTypes.test(mimeType));
  // The pod that has a clip sends the file name given by the camera.
  if (clip !== null) return isInline ? { 'Content-Disposition': 'inline' } : {};
  const taken = takenAt.toISOString().slice(0, 19).replaceAll(':', '-');
  const name = `${kind}-${_id}-channel-${channelId}-${taken}.${fileExtension(mimeType)}`;
  return {
    'Content-Type': mimeType,
    'Content-Disposition': isInline ? `inline; filename="${name}"` : `attachment; filename="${name}"`,
  };
}
