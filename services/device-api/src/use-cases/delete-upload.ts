import { callUseCase, removeUploadFiles } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { CommandContext, Deps } from '../deps.ts';
import { finalStatuses, isFinal, uploadNotFoundError, type VisibleUpload } from '../domain/upload.ts';
import { findUpload } from './find-upload.ts';
import { revokeUpload } from './publish-upload.ts';

const removeTimeoutMs = 10_000;

/**
 * Deletes an ended upload and its files: the files first, so that no file loses its record. Returns the deleted upload.
 */
export async function deleteUpload(
  deps: Pick<Deps, 'bus' | 'uploads'>,
  uploadId: string,
  context: Pick<CommandContext, 'correlationId' | 'log'>,
): Promise<VisibleUpload> {
  const upload = await findUpload(deps, uploadId);
  if (!isFinal(upload.status))
    throw new AppError('permission_denied', `The upload is ${upload.status}: cancel it first.`);
  try {
    await removeFiles(deps, upload, removeTimeoutMs, context);
  } catch (cause) {
    throw new AppError('upstream_error', 'The video file could not be deleted. Nothing was removed; retry.', {
      cause,
    });
  }
  // Another caller was faster.
  if (!(await deps.uploads.remove(uploadId, finalStatuses))) throw uploadNotFoundError();
  revokeUpload(deps, uploadId);
  return upload;
}

/** Requests the pod that stores an upload's files to delete them; throws if it fails or is unreachable. */
export async function removeFiles(
  deps: Pick<Deps, 'bus'>,
  { _id: uploadId, server }: VisibleUpload,
  timeoutMs: number,
  { correlationId }: Pick<CommandContext, 'correlationId'>,
): Promise<void> {
  if (server === null) return;
  await callUseCase(deps.bus, removeUploadFiles(server.podId), { uploadId }, { timeoutMs, correlationId });
}
