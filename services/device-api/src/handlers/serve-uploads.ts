import { type BusContext, deviceApi, serveUseCase } from '@fleet/bus';
import { isExternalUpload } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import type { VisibleUpload } from '../domain/upload.ts';
import { controlUpload } from '../use-cases/control-upload.ts';
import { findUpload, listUploads } from '../use-cases/find-upload.ts';
import { requestUpload } from '../use-cases/request-upload.ts';

/** Serves the upload use cases over the bus. */
export function serveUploads(
  deps: Deps,
  options: { queue: string; onError: (error: unknown) => void },
  createContext: (bus: BusContext, waitMs?: number) => CommandContext,
): { stop(): Promise<void> }[] {
  const controlTimeoutMs = deps.config.UPLOAD_CONTROL_TIMEOUT_MS;
  return [
    serveUseCase(deps.bus, deviceApi.requestUpload, options, async (body, bus) => {
      const requestedImei = body.imei.padStart(body.imei.length > 12 ? 20 : 12, '0');
      const { responseId, result, videoId } = await requestUpload(deps, { ...body, requestedImei }, createContext(bus));
      return { responseId, result, videoId };
    }),
    serveUseCase(deps.bus, deviceApi.controlUpload, options, async ({ videoId, action }, bus) =>
      toUploadReply(await controlUpload(deps, { uploadId: videoId, action }, createContext(bus, controlTimeoutMs))),
    ),
    serveUseCase(deps.bus, deviceApi.findUpload, options, async ({ videoId }) =>
      toUploadReply(await findUpload(deps, videoId)),
    ),
    serveUseCase(deps.bus, deviceApi.listUploads, options, async (body) => ({
      videos: (await listUploads(deps, body)).map(toUploadReply),
    })),
  ];
}

const toUploadReply = (upload: VisibleUpload) => ({
  videoId: upload._id,
  imei: upload.shownImei,
  channel: upload.clip.channel,
  startMs: upload.clip.startMs,
  endMs: upload.clip.endMs,
  cameraUtcOffset: upload.cameraUtcOffset,
  filesize: upload.filesize,
  status: upload.status,
  filename: upload.filename,
  ...(typeof upload.requestedBy === 'number' ? { requestedBy: upload.requestedBy } : {}),
  ...(isExternalUpload(upload) ? { external: true } : {}),
});
