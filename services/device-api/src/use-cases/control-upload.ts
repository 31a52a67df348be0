import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { generalAnswerOf, timedOut } from '../domain/outcome.ts';
import { cameraBusy, isVisible, statusAfter, uploadAction, type VisibleUpload } from '../domain/upload.ts';
import { announceUpload, revokeUpload } from './announce-upload.ts';
import { askDevice } from './ask-device.ts';
import { removeFiles } from './delete-upload.ts';
import { findUpload } from './find-upload.ts';

type ControlDeps = Pick<Deps, 'asker' | 'bus' | 'config' | 'redis' | 'stopped' | 'uploads'>;

export interface ControlUpload {
  readonly uploadId: string;
  /** `uploadAction` */
  readonly action: number;
}

const askAgainEveryMs = 100;
/** The steps after the camera's response still hold the right to the upload. */
const afterAnswerMs = 5_000;
const removeLimitMs = 3_000;

/**
 * Pauses, resumes or cancels an upload (0x9207). One command is pending per upload on all replicas; a concurrent one
 * waits for its end, and is rejected if that changed the status.
 */
export async function controlUpload(
  deps: ControlDeps,
  { uploadId, action }: ControlUpload,
  context: CommandContext,
): Promise<VisibleUpload> {
  const seen = await findUpload(deps, uploadId);
  const target = statusAfter(action, seen.status);
  if (target === undefined)
    throw new AppError('state_conflict', `The action does not fit an upload that is ${seen.status}.`);
  const token = randomUUID();
  const { commandSerialNo } = await begin(deps, seen, token, context);
  try {
    const { imei } = seen.clip;
    if (action === uploadAction.resume && !(await deps.uploads.lockCamera(imei, uploadId, untilMs(context))))
      throw cameraBusy();
    // A failed resume leaves its lock: by the record, no upload holds the camera.
    const after = await command(deps, seen, { action, target, commandSerialNo }, context);
    if (after.status !== 'uploading') await returnCamera(deps, after, context);
    if (after.status === 'cancelled') await discard(deps, after, context);
    if (after.status !== seen.status) await announceUpload(deps, after, context.log);
    return after;
  } finally {
    await deps.uploads
      .endControl(uploadId, token)
      .catch((error: unknown) => context.log.warn({ err: error, uploadId }, 'could not release an upload'));
  }
}

const untilMs = (context: CommandContext): number =>
  Date.now() + Math.max(0, context.deadlineAtMs - performance.now()) + afterAnswerMs;

/** Waits for the right to command the camera about the upload, while its status is unchanged. */
async function begin(
  deps: Pick<Deps, 'uploads'>,
  seen: VisibleUpload,
  token: string,
  context: CommandContext,
): Promise<UploadRecord & { readonly commandSerialNo: number }> {
  let known: UploadRecord = seen;
  while (performance.now() < context.deadlineAtMs) {
    if (known.commandSerialNo !== null) {
      const begun = await deps.uploads.beginControl(seen._id, seen.status, token, untilMs(context));
      if (begun !== null) return { ...begun, commandSerialNo: known.commandSerialNo };
    } else if (known.reservedUntilMs < Date.now()) {
      // The camera began to send, and its response was lost with the waiting process.
      throw new AppError(
        'upstream_error',
        "The camera's response to the upload request was lost, so it cannot be controlled.",
      );
    }
    await delay(askAgainEveryMs);
    known = await findUpload(deps, seen._id);
    if (known.status !== seen.status) throw changedMeanwhile(known);
  }
  throw timedOut();
}

const changedMeanwhile = ({ status }: UploadRecord): AppError =>
  new AppError('state_conflict', `The status of the upload has changed: it is ${status}.`);

/** Sends the command and updates the record, unless the camera refuses. */
async function command(
  deps: ControlDeps,
  seen: VisibleUpload,
  { action, target, commandSerialNo }: { action: number; target: VisibleUpload['status']; commandSerialNo: number },
  context: CommandContext,
): Promise<VisibleUpload> {
  const { _id: uploadId, clip } = seen;
  const outcome = await askDevice(
    deps,
    clip.imei,
    { kind: 'controlUpload', uploadSerialNo: commandSerialNo, control: action },
    context,
  );
  const isAccepted = generalAnswerOf(outcome).result === 'success';
  const after = isAccepted ? await deps.uploads.transition(uploadId, [seen.status], target, changes[target]) : null;
  if (after !== null && isVisible(after)) return after;
  const now = await findUpload(deps, uploadId);
  if (isAccepted || now.status !== seen.status) throw changedMeanwhile(now);
  return now;
}

/** Returns the fields that change together with a status. */
const changes: Partial<Record<VisibleUpload['status'], Partial<UploadRecord>>> = {
  // The wait for bytes restarts.
  uploading: { silentMs: 0 },
  cancelled: { files: [], filesize: 0, filename: null, credential: null },
};

async function returnCamera(
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
async function discard(deps: ControlDeps, upload: VisibleUpload, context: CommandContext): Promise<void> {
  revokeUpload(deps, upload._id);
  try {
    await removeFiles(deps, upload, removeLimitMs, context);
    await deps.uploads.set(upload._id, ['cancelled'], { server: null });
  } catch (error) {
    context.log.warn({ err: error, uploadId: upload._id }, 'could not delete the files of a cancelled upload yet');
  }
}
