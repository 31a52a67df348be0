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
import { type CameraSpan, cameraSpan, type UtcOffset } from '../domain/camera-time.ts';
import { checkAllowed } from '../domain/media-address.ts';
import { generalAnswerOf, shownMessageId, timedOut } from '../domain/outcome.ts';
import { cameraBusy, isVisible, mayUseMobileNetwork, type VisibleUpload } from '../domain/upload.ts';
import { within } from '../domain/within.ts';
import {
  errorOfOutcome,
  keepUploadOutcome,
  outcomeOfError,
  readUploadOutcome,
  type UploadOutcome,
} from '../store/upload-outcomes.ts';
import { announceUpload, revokeUpload } from './announce-upload.ts';
import { askDevice, stateLimitMs, unlessStopped } from './ask-device.ts';

type RequestDeps = Pick<Deps, 'asker' | 'bus' | 'clocks' | 'config' | 'redis' | 'stopped' | 'uploads'>;

export interface RequestUpload {
  /** Canonical number. */
  readonly imei: string;
  /** As the caller wrote it. */
  readonly askedImei: string;
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
}

/** `UploadGeneralResponse` of the interface in code. */
export interface UploadAnswer {
  readonly responseId: string;
  /** Status of a clip with an upload. */
  readonly result: 'success' | UploadStatus;
  readonly videoId: string;
}

/** Request to upload a clip, JT/T 1078. */
const responseId = shownMessageId(0x9206);
/** A reservation outlives the time-out of the camera by this much, for the steps after its response. */
const afterAnswerMs = 10_000;
const grantLimitMs = 5_000;
const pollEveryMs = 200;

/**
 * Requests a clip from a camera, unless the clip has an upload. The caller that stores the reservation sends the
 * command; concurrent requests for the clip on any replica wait for its response and share it.
 */
export async function requestUpload(
  deps: RequestDeps,
  wanted: RequestUpload,
  context: CommandContext,
): Promise<UploadAnswer> {
  const { config } = deps;
  checkAllowed(wanted.host, { host: config.MEDIA_PUBLIC_HOST, allowlist: config.DEVICE_HOST_ALLOWLIST });
  const { offset, accountId } = await deps.clocks.recordOf(wanted.imei, context);
  const span = cameraSpan(wanted.startMs, wanted.endMs, offset);
  const clip = clipOf(wanted);
  while (performance.now() < context.deadlineAtMs) {
    const known = await uploadOf(deps, clip, accountId);
    if (known !== null && isVisible(known)) return answer(known, known.status);
    if (known !== null) {
      const shared = await unlessStopped(deps.stopped, answerOfOther(deps, known, context));
      if (shared !== undefined) return shared;
      continue;
    }
    const reservation = await reservationOf(deps, wanted, clip, { offset, accountId });
    if (await stored(deps.uploads.reserve(reservation))) return lead(deps, reservation, wanted, span, context);
  }
  throw timedOut();
}

/** Returns the account's upload of a clip, or one from before the account owned the device. */
async function uploadOf(
  deps: Pick<Deps, 'uploads'>,
  clip: Clip,
  accountId: number | null,
): Promise<UploadRecord | null> {
  const own = await stored(deps.uploads.findByClip(clipKey(clip, accountId)));
  return own === null && accountId !== null ? stored(deps.uploads.findByClip(clipKey(clip))) : own;
}

const answer = (upload: UploadRecord, result: UploadAnswer['result']): UploadAnswer => ({
  responseId,
  result,
  videoId: upload._id,
});

const clipOf = (wanted: RequestUpload): Clip => ({
  imei: wanted.imei,
  channel: wanted.channel,
  startMs: wanted.startMs,
  endMs: wanted.endMs,
  mediaType: wanted.mediaType,
  streamType: wanted.streamType,
  storageType: wanted.storageType,
  alarmFlags: wanted.alarmFlags,
});

async function reservationOf(
  deps: Pick<Deps, 'config' | 'redis'>,
  wanted: RequestUpload,
  clip: Clip,
  { offset, accountId }: { readonly offset: UtcOffset; readonly accountId: number | null },
): Promise<UploadRecord> {
  return createReservation(clip, {
    shownImei: await numberAsSent(deps, wanted),
    askedImei: wanted.askedImei,
    cameraUtcOffset: offset,
    accountId,
    reservedUntilMs: Date.now() + deps.config.DEVICE_REPLY_TIMEOUT_MS + afterAnswerMs,
    mobileNetwork: mayUseMobileNetwork(wanted.conditions),
  });
}

/** Lists contain a number as its terminal sends it. */
async function numberAsSent(deps: Pick<Deps, 'redis'>, { imei, askedImei }: RequestUpload): Promise<string> {
  try {
    return (await within(stateLimitMs, readDevice(deps.redis, imei)))?.phone ?? askedImei;
  } catch {
    // Without device state the caller's own spelling is the best known.
    return askedImei;
  }
}

/** Requests a reserved clip from the camera. */
async function lead(
  deps: RequestDeps,
  reservation: UploadRecord,
  wanted: RequestUpload,
  span: CameraSpan,
  context: CommandContext,
): Promise<UploadAnswer> {
  const { _id: uploadId, clip, reservedUntilMs } = reservation;
  try {
    if (!(await stored(deps.uploads.lockCamera(clip.imei, uploadId, reservedUntilMs)))) throw cameraBusy();
    const command = await commandFor(deps, uploadId, wanted, span, context);
    const outcome = await askDevice(deps, clip.imei, command, context);
    const upload = await accept(deps, uploadId, commandSerialNoOf(outcome), context);
    await announceUpload(deps, upload, context.log);
  } catch (error) {
    return giveUp(deps, reservation, error, context);
  }
  return answer(reservation, 'success');
}

/** Returns the 0x9206 with a credential of this upload. */
async function commandFor(
  deps: Pick<Deps, 'bus' | 'uploads'>,
  uploadId: string,
  wanted: RequestUpload,
  { startTime, endTime }: CameraSpan,
  context: CommandContext,
): Promise<DeviceCommandOf<'requestUpload'>> {
  const { channel, mediaType, streamType, storageType, alarmFlags, conditions } = wanted;
  const clip = { channel, startTime, endTime, mediaType, streamType, storageType, alarmFlags };
  try {
    const options = { timeoutMs: grantLimitMs, correlationId: context.correlationId };
    const { host, port, username, password, path } = await callUseCase(deps.bus, grantUpload, { uploadId }, options);
    const server = { server: wanted.host ?? host, port: wanted.port ?? port };
    const isOurs = server.server.toLowerCase() === host.toLowerCase() && server.port === port;
    if (!isOurs) await stored(deps.uploads.set(uploadId, ['reserved'], { external: true }));
    return { kind: 'requestUpload', ...server, username, password, path, ...clip, conditions };
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('unavailable', 'No upload server accepts clips at the moment.', { cause });
  }
}

/** Returns the header serial of the accepted 0x9206; throws for every other outcome. */
function commandSerialNoOf(outcome: Outcome): number {
  const { result } = generalAnswerOf(outcome);
  if (result === 'success' && outcome.kind === 'answered') return outcome.answer.commandSerialNo;
  throw new AppError('upstream_error', `The camera refused the upload (${result}).`);
}

async function accept(
  deps: Pick<Deps, 'redis' | 'uploads'>,
  uploadId: string,
  commandSerialNo: number,
  context: CommandContext,
): Promise<VisibleUpload> {
  // First, so that waiting callers see it with the change of status.
  await tell(deps, uploadId, { accepted: true }, context);
  const upload =
    (await stored(deps.uploads.transition(uploadId, ['reserved'], 'uploading', { commandSerialNo }))) ??
    // The camera sent its first bytes before its response, and may have ended since.
    (await stored(deps.uploads.set(uploadId, ['uploading', 'completed', 'failed'], { commandSerialNo })));
  if (upload !== null && isVisible(upload)) return upload;
  throw new AppError('unavailable', 'The camera responded after the reservation of its upload had ended. Retry.');
}

/** Cancels a reservation and throws the reason, unless the camera has begun to send. */
async function giveUp(
  deps: RequestDeps,
  { _id: uploadId, clip }: UploadRecord,
  error: unknown,
  context: CommandContext,
): Promise<UploadAnswer> {
  await tell(deps, uploadId, outcomeOfError(error), context);
  try {
    if (!(await deps.uploads.remove(uploadId, ['reserved']))) {
      const upload = await deps.uploads.find(uploadId);
      if (upload !== null && isVisible(upload)) return answer(upload, 'success');
    }
    await deps.uploads.unlockCamera(clip.imei, uploadId);
    revokeUpload(deps, uploadId);
  } catch (cause) {
    // It expires by itself.
    context.log.warn({ err: cause, uploadId }, 'could not cancel the reservation of an upload');
  }
  throw error;
}

async function tell(
  deps: Pick<Deps, 'redis'>,
  uploadId: string,
  outcome: UploadOutcome,
  context: CommandContext,
): Promise<void> {
  try {
    await within(stateLimitMs, keepUploadOutcome(deps.redis, uploadId, outcome));
  } catch (error) {
    // Waiting callers read the record, and send a request themselves if it was deleted.
    context.log.warn({ err: error, uploadId }, 'could not save the outcome of an upload request');
  }
}

/**
 * Waits for the response to another request for the clip; returns undefined if its reservation ended without one (its
 * process died).
 */
async function answerOfOther(
  deps: Pick<Deps, 'redis' | 'uploads'>,
  other: UploadRecord,
  context: CommandContext,
): Promise<UploadAnswer | undefined> {
  while (performance.now() < context.deadlineAtMs) {
    await delay(pollEveryMs);
    const known = await stored(deps.uploads.find(other._id));
    if (known?.status === 'reserved') {
      if (known.reservedUntilMs >= Date.now()) continue;
      if (await stored(deps.uploads.remove(other._id, ['reserved'])))
        await stored(deps.uploads.unlockCamera(other.clip.imei, other._id));
      return undefined;
    }
    const outcome = await outcomeOf(deps, other._id, context);
    if (known !== null && isVisible(known)) return answer(known, outcome?.accepted ? 'success' : known.status);
    if (outcome === null || outcome.accepted) return undefined;
    throw errorOfOutcome(outcome);
  }
  throw timedOut();
}

async function outcomeOf(
  deps: Pick<Deps, 'redis'>,
  uploadId: string,
  context: CommandContext,
): Promise<UploadOutcome | null> {
  try {
    return await within(stateLimitMs, readUploadOutcome(deps.redis, uploadId));
  } catch (error) {
    context.log.warn({ err: error, uploadId }, 'could not read the outcome of an upload request');
    return null;
  }
}

/** Uploads need the database: without it none can be requested. */
async function stored<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    throw new AppError('unavailable', 'Uploads cannot be stored at the moment.', { cause });
  }
}
