import { setTimeout as delay } from 'node:timers/promises';
import { BusError, callUseCase, type DeviceCommandOf, grantUpload, type Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import {
  type Clip,
  clipKey,
  createReservation,
  readDevice,
  type UploadRecord,
  type UploadStatus,
} from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { type CameraSpan, toCameraSpan } from '../domain/camera-time.ts';
import { assertHostAllowed } from '../domain/media-address.ts';
import { formatMessageId, timeoutError, toGeneralResponse } from '../domain/outcome.ts';
import { allowsMobileNetwork, cameraBusyError, isVisible, type VisibleUpload } from '../domain/upload.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import {
  readUploadOutcome,
  saveUploadOutcome,
  toAppError,
  toUploadOutcome,
  type UploadOutcome,
} from '../store/upload-outcomes.ts';
import type { DeviceRecord } from './camera-utc-offsets.ts';
import { publishUpload, revokeUpload } from './publish-upload.ts';
import { abortOnShutdown, sendCommand, stateTimeoutMs } from './send-command.ts';

type RequestDeps = Pick<Deps, 'commandClient' | 'bus' | 'utcOffsets' | 'config' | 'redis' | 'stopped' | 'uploads'>;

export interface UploadRequest {
  /** Canonical number. */
  readonly imei: string;
  /** As the caller wrote it. */
  readonly requestedImei: string;
  readonly channel: number;
  readonly startMs: number;
  readonly endMs: number;
  readonly mediaType: number;
  readonly streamType: number;
  readonly storageType: number;
  /** Unsigned 64-bit number in decimal. */
  readonly alarmFlags: string;
  /** Networks that the camera may use, `networkConditions`. */
  readonly conditions: number;
  /** FTP server that the camera uploads to; by default this product's. */
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  /** User who requests it; none for an API key. */
  readonly requestedBy?: number | undefined;
}

/** `UploadGeneralResponse` of the interface in code. */
export interface UploadRequestResult {
  readonly responseId: string;
  /** Status of a clip with an upload. */
  readonly result: 'success' | UploadStatus;
  readonly videoId: string;
}

/** Request to upload a clip, JT/T 1078. */
const responseId = formatMessageId(0x9206);
/** A reservation outlives the time-out of the camera by this much, for the steps after its response. */
const responseMarginMs = 10_000;
const grantTimeoutMs = 5_000;
const pollIntervalMs = 200;

/**
 * Requests a clip from a camera, unless the clip has an upload. The caller that stores the reservation sends the
 * command; concurrent requests for the clip on any replica wait for its response and share it.
 */
export async function requestUpload(
  deps: RequestDeps,
  request: UploadRequest,
  context: CommandContext,
): Promise<UploadRequestResult> {
  const { config } = deps;
  assertHostAllowed(request.host, { host: config.MEDIA_PUBLIC_HOST, allowlist: config.DEVICE_HOST_ALLOWLIST });
  const device = await deps.utcOffsets.fetchRecord(request.imei, context);
  const { accountId } = device;
  const span = toCameraSpan(request.startMs, request.endMs, device.offset);
  const clip = toClip(request);
  while (performance.now() < context.deadlineAtMs) {
    const existing = await findExisting(deps, clip, accountId);
    if (existing !== null && isVisible(existing)) return toRequestResult(existing, existing.status);
    if (existing !== null) {
      const concurrentResult = await abortOnShutdown(deps.stopped, awaitConcurrentRequest(deps, existing, context));
      if (concurrentResult !== undefined) return concurrentResult;
      continue;
    }
    const reservation = await prepareReservation(deps, request, clip, device);
    if (await mapStorageError(deps.uploads.reserve(reservation)))
      return requestFromCamera(deps, reservation, request, span, context);
  }
  throw timeoutError();
}

/** Returns the account's upload of a clip, or one from before the account owned the device. */
async function findExisting(
  deps: Pick<Deps, 'uploads'>,
  clip: Clip,
  accountId: number | null,
): Promise<UploadRecord | null> {
  const ownUpload = await mapStorageError(deps.uploads.findByClip(clipKey(clip, accountId)));
  return ownUpload === null && accountId !== null ? mapStorageError(deps.uploads.findByClip(clipKey(clip))) : ownUpload;
}

const toRequestResult = (upload: UploadRecord, result: UploadRequestResult['result']): UploadRequestResult => ({
  responseId,
  result,
  videoId: upload._id,
});

const toClip = (request: UploadRequest): Clip => ({
  imei: request.imei,
  channel: request.channel,
  startMs: request.startMs,
  endMs: request.endMs,
  mediaType: request.mediaType,
  streamType: request.streamType,
  storageType: request.storageType,
  alarmFlags: request.alarmFlags,
});

async function prepareReservation(
  deps: Pick<Deps, 'config' | 'redis'>,
  request: UploadRequest,
  clip: Clip,
  { offset, accountId, vehicleId }: DeviceRecord,
): Promise<UploadRecord> {
  return createReservation(clip, {
    shownImei: await findTerminalPhone(deps, request),
    askedImei: request.requestedImei,
    cameraUtcOffset: offset,
    accountId,
    vehicleId,
    requestedBy: request.requestedBy ?? null,
    reservedUntilMs: Date.now() + deps.config.DEVICE_REPLY_TIMEOUT_MS + responseMarginMs,
    mobileNetwork: allowsMobileNetwork(request.conditions),
  });
}

/** Lists contain a number as its terminal sends it. */
async function findTerminalPhone(deps: Pick<Deps, 'redis'>, { imei, requestedImei }: UploadRequest): Promise<string> {
  try {
    return (await withTimeout(stateTimeoutMs, readDevice(deps.redis, imei)))?.phone ?? requestedImei;
  } catch {
    // Without device state the caller's own spelling is the best known.
    return requestedImei;
  }
}

/** Requests a reserved clip from the camera. */
async function requestFromCamera(
  deps: RequestDeps,
  reservation: UploadRecord,
  request: UploadRequest,
  span: CameraSpan,
  context: CommandContext,
): Promise<UploadRequestResult> {
  const { _id: uploadId, clip, reservedUntilMs } = reservation;
  try {
    if (!(await mapStorageError(deps.uploads.lockCamera(clip.imei, uploadId, reservedUntilMs))))
      throw cameraBusyError();
    const command = await buildUploadCommand(deps, uploadId, request, span, context);
    const outcome = await sendCommand(deps, clip.imei, command, context);
    const upload = await markAccepted(deps, uploadId, getCommandSerialNo(outcome), context);
    await publishUpload(deps, upload, context.log);
  } catch (error) {
    return cancelReservation(deps, reservation, error, context);
  }
  return toRequestResult(reservation, 'success');
}

/** Returns the 0x9206 with a credential of this upload. */
async function buildUploadCommand(
  deps: Pick<Deps, 'bus' | 'uploads'>,
  uploadId: string,
  request: UploadRequest,
  { startTime, endTime }: CameraSpan,
  context: CommandContext,
): Promise<DeviceCommandOf<'requestUpload'>> {
  const { channel, mediaType, streamType, storageType, alarmFlags, conditions } = request;
  const clip = { channel, startTime, endTime, mediaType, streamType, storageType, alarmFlags };
  try {
    const options = { timeoutMs: grantTimeoutMs, correlationId: context.correlationId };
    const { host, port, username, password, path } = await callUseCase(deps.bus, grantUpload, { uploadId }, options);
    const server = { server: request.host ?? host, port: request.port ?? port };
    const isOurs = server.server.toLowerCase() === host.toLowerCase() && server.port === port;
    if (!isOurs) await mapStorageError(deps.uploads.set(uploadId, ['reserved'], { external: true }));
    return { kind: 'requestUpload', ...server, username, password, path, ...clip, conditions };
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('unavailable', 'No upload server accepts clips at the moment. Retry later.', { cause });
  }
}

/** Returns the header serial of the accepted 0x9206; throws for every other outcome. */
function getCommandSerialNo(outcome: Outcome): number {
  const { result } = toGeneralResponse(outcome);
  if (result === 'success' && outcome.kind === 'answered') return outcome.answer.commandSerialNo;
  throw new AppError('upstream_error', `The camera refused the upload (${result}).`);
}

async function markAccepted(
  deps: Pick<Deps, 'redis' | 'uploads'>,
  uploadId: string,
  commandSerialNo: number,
  context: CommandContext,
): Promise<VisibleUpload> {
  // First, so that waiting callers see it with the change of status.
  await shareOutcome(deps, uploadId, { accepted: true }, context);
  const upload =
    (await mapStorageError(deps.uploads.transition(uploadId, ['reserved'], 'uploading', { commandSerialNo }))) ??
    // The camera sent its first bytes before its response, and may have ended since.
    (await mapStorageError(deps.uploads.set(uploadId, ['uploading', 'completed', 'failed'], { commandSerialNo })));
  if (upload !== null && isVisible(upload)) return upload;
  throw new AppError('unavailable', 'The camera responded after the reservation of its upload had ended. Retry.');
}

/** Cancels a reservation and throws the reason, unless the camera has begun to send. */
async function cancelReservation(
  deps: RequestDeps,
  { _id: uploadId, clip }: UploadRecord,
  error: unknown,
  context: CommandContext,
): Promise<UploadRequestResult> {
  await shareOutcome(deps, uploadId, toUploadOutcome(error), context);
  try {
    if (!(await deps.uploads.remove(uploadId, ['reserved']))) {
      const upload = await deps.uploads.find(uploadId);
      if (upload !== null && isVisible(upload)) return toRequestResult(upload, 'success');
    }
    await deps.uploads.unlockCamera(clip.imei, uploadId);
    revokeUpload(deps, uploadId);
  } catch (cause) {
    // It expires by itself.
    context.log.warn({ err: cause, uploadId }, 'could not cancel the reservation of an upload');
  }
  throw error;
}

async function shareOutcome(
  deps: Pick<Deps, 'redis'>,
  uploadId: string,
  outcome: UploadOutcome,
  context: CommandContext,
): Promise<void> {
  try {
    await withTimeout(stateTimeoutMs, saveUploadOutcome(deps.redis, uploadId, outcome));
  } catch (error) {
    // Waiting callers read the record, and send a request themselves if it was deleted.
    context.log.warn({ err: error, uploadId }, 'could not save the outcome of an upload request');
  }
}

/**
 * Waits for the response to another request for the clip; returns undefined if its reservation ended without one (its
 * process died).
 */
async function awaitConcurrentRequest(
  deps: Pick<Deps, 'redis' | 'uploads'>,
  concurrent: UploadRecord,
  context: CommandContext,
): Promise<UploadRequestResult | undefined> {
  while (performance.now() < context.deadlineAtMs) {
    await delay(pollIntervalMs);
    const latest = await mapStorageError(deps.uploads.find(concurrent._id));
    if (latest?.status === 'reserved') {
      if (latest.reservedUntilMs >= Date.now()) continue;
      if (await mapStorageError(deps.uploads.remove(concurrent._id, ['reserved'])))
        await mapStorageError(deps.uploads.unlockCamera(concurrent.clip.imei, concurrent._id));
      return undefined;
    }
    const outcome = await readOutcome(deps, concurrent._id, context);
    if (latest !== null && isVisible(latest))
      return toRequestResult(latest, outcome?.accepted ? 'success' : latest.status);
    if (outcome === null || outcome.accepted) return undefined;
    throw toAppError(outcome);
  }
  throw timeoutError();
}

async function readOutcome(
  deps: Pick<Deps, 'redis'>,
  uploadId: string,
  context: CommandContext,
): Promise<UploadOutcome | null> {
  try {
    return await withTimeout(stateTimeoutMs, readUploadOutcome(deps.redis, uploadId));
  } catch (error) {
    context.log.warn({ err: error, uploadId }, 'could not read the outcome of an upload request');
    return null;
  }
}

/** Uploads need the database: without it none can be requested. */
async function mapStorageError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new AppError('unavailable', 'Uploads cannot be stored at the moment. Retry.', { cause });
  }
}
