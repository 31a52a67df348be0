import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { timeoutError, toGeneralResponse } from '../domain/outcome.ts';
import { cameraBusyError, getNextStatus, isVisible, uploadAction, type VisibleUpload } from '../domain/upload.ts';
import { removeFiles } from './delete-upload.ts';
import { findUpload } from './find-upload.ts';
import { publishUpload, revokeUpload } from './publish-upload.ts';
import { sendCommand } from './send-command.ts';

type ControlDeps = Pick<Deps, 'commandClient' | 'bus' | 'config' | 'redis' | 'stopped' | 'uploads'>;

interface ControlUploadRequest {
  readonly uploadId: string;
  /** `uploadAction` */
  readonly action: number;
}

const pollIntervalMs = 100;
/** The steps after the camera's response still hold the right to the upload. */
const responseMarginMs = 5_000;
const removeTimeoutMs = 3_000;

/**
 * Pauses, resumes or cancels an upload (0x9207). One command is pending per upload on all replicas; a concurrent one
 * waits for its end, and is rejected if that changed the status.
 */
export async function controlUpload(
  deps: ControlDeps,
  { uploadId, action }: ControlUploadRequest,
  context: CommandContext,
): Promise<VisibleUpload> {
  const upload = await findUpload(deps, uploadId);
  const target = getNextStatus(action, upload.status);
  if (target === undefined)
    throw new AppError('state_conflict', `The action does not fit an upload that is ${upload.status}.`);
  const token = randomUUID();
  const { commandSerialNo } = await acquireControl(deps, upload, token, context);
  try {
    const { imei } = upload.clip;
    if (action === uploadAction.resume && !(await deps.uploads.lockCamera(imei, uploadId, lockUntilMs(context))))
      throw cameraBusyError();
    // A failed resume leaves its lock: by the record, no upload holds the camera.
    const updated = await sendControl(deps, upload, { action, target, commandSerialNo }, context);
    if (updated.status !== 'uploading') await unlockCamera(deps, updated, context);
    if (updated.status === 'cancelled') await discardFiles(deps, updated, context);
    if (updated.status !== upload.status) await publishUpload(deps, updated, context.log);
    return updated;
  } finally {
    await deps.uploads
      .endControl(uploadId, token)
      .catch((error: unknown) => context.log.warn({ err: error, uploadId }, 'could not release an upload'));
  }
}

const lockUntilMs = (context: CommandContext): number =>
  Date.now() + Math.max(0, context.deadlineAtMs - performance.now()) + responseMarginMs;

/** Waits for the right to command the camera about the upload, while its status is unchanged. */
async function acquireControl(
  deps: Pick<Deps, 'uploads'>,
  upload: VisibleUpload,
  token: string,
  context: CommandContext,
): Promise<UploadRecord & { readonly commandSerialNo: number }> {
  let latest: UploadRecord = upload;
  while (performance.now() < context.deadlineAtMs) {
    if (latest.commandSerialNo !== null) {
      const locked = await deps.uploads.beginControl(upload._id, upload.status, token, lockUntilMs(context));
      if (locked !== null) return { ...locked, commandSerialNo: latest.commandSerialNo };
    } else if (latest.reservedUntilMs < Date.now()) {
      // The camera began to send, and its response was lost with the waiting process.
      throw new AppError(
        'upstream_error',
        "The camera's response to the upload request was lost, so it cannot be controlled.",
      );
    }
    await delay(pollIntervalMs);
    latest = await findUpload(deps, upload._id);
    if (latest.status !== upload.status) throw statusChangedError(latest);
  }
  throw timeoutError();
}

const statusChangedError = ({ status }: UploadRecord): AppError =>
  new AppError('state_conflict', `The status of the upload has changed: it is ${status}.`);

/** Sends the command and updates the record, unless the camera refuses. */
async function sendControl(
  deps: ControlDeps,
  upload: VisibleUpload,
  { action, target, commandSerialNo }: { action: number; target: VisibleUpload['status']; commandSerialNo: number },
  context: CommandContext,
): Promise<VisibleUpload> {
  const { _id: uploadId, clip } = upload;
  const outcome = await sendCommand(
    deps,
    clip.imei,
    { kind: 'controlUpload', uploadSerialNo: commandSerialNo, control: action },
    context,
  );
  const isAccepted = toGeneralResponse(outcome).result === 'success';
  const updated = isAccepted
    ? await deps.uploads.transition(uploadId, [upload.status], target, statusUpdates[target])
    : null;
  if (updated !== null && isVisible(updated)) return updated;
  const latest = await findUpload(deps, uploadId);
  if (isAccepted || latest.status !== upload.status) throw statusChangedError(latest);
  return latest;
}

/** Returns the fields that change together with a status. */
const statusUpdates: Partial<Record<VisibleUpload['status'], Partial<UploadRecord>>> = {
  // The wait for bytes restarts.
  uploading: { silentMs: 0 },
  cancelled: { files: [], filesize: 0, filename: null, credential: null },
};

async function unlockCamera(
  deps: Pick<Deps, 'uploads'>,
  { _id: uploadId, clip }: VisibleUpload,
  context: CommandContext,
): Promise<void> {
  try {
    await deps.uploads.unlockCamera(clip.imei, uploadId);
  } catch (error) {
    // The next upload learns from the record that the camera is free.
    context.log.warn({ err: error, uploadId }, 'could not unlock a camera');
  }
}

/** Deletes the files of a cancelled upload; the periodic job of upload-ftp retries. */
async function discardFiles(deps: ControlDeps, upload: VisibleUpload, context: CommandContext): Promise<void> {
  revokeUpload(deps, upload._id);
  try {
    await removeFiles(deps, upload, removeTimeoutMs, context);
    await deps.uploads.set(upload._id, ['cancelled'], { server: null });
  } catch (error) {
    context.log.warn({ err: error, uploadId: upload._id }, 'could not delete the files of a cancelled upload yet');
  }
}
