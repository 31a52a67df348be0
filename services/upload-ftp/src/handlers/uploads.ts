import { type Bus, grantUpload, removeUploadFiles, serveUseCase, subscribe, uploadRevoked } from '@fleet/bus';
import type { Grant } from '../use-cases/grant-upload.ts';

interface UploadHandlers {
  readonly grantUpload: (uploadId: string) => Promise<Grant>;
  readonly removeFiles: (uploadId: string) => Promise<void>;
  readonly closeRevoked: (uploadId: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Serves grants for any pod, and removals for this pod. */
export function serveUploads(bus: Bus, podId: string, handlers: UploadHandlers) {
  const { onError } = handlers;
  const grants = serveUseCase(bus, grantUpload, { queue: 'upload-ftp', onError }, ({ uploadId }) =>
    handlers.grantUpload(uploadId),
  );
  const removals = serveUseCase(
    bus,
    removeUploadFiles(podId),
    { queue: `upload-ftp-${podId}`, onError },
    async ({ uploadId }) => {
      await handlers.removeFiles(uploadId);
      return {};
    },
  );
  const revocations = subscribe(bus, uploadRevoked, onError, ({ uploadId }) => {
    handlers.closeRevoked(uploadId).catch(onError);
  });
  return {
    /** Stops granting uploads. */
    stopGrants: () => grants.stop(),
    stop: async () => {
      await Promise.all([grants.stop(), removals.stop()]);
      revocations.stop();
    },
  };
}
