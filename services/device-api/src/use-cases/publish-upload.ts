import { encodeJson, publish, publishToStream, uploadChanged, uploadRevoked, uploadSubject } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { isExternalUpload } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { isFinal, type VisibleUpload } from '../domain/upload.ts';

/** Publishes the state of an upload. The record is the truth: a lost event is visible there. */
export async function publishUpload(deps: Pick<Deps, 'bus'>, upload: VisibleUpload, log: Logger): Promise<void> {
  const { _id: uploadId, status, filesize, filename, changedAtMs: atMs } = upload;
  const { imei, channel } = upload.clip;
  const external = isExternalUpload(upload) ? { external: true } : {};
  const body = { uploadId, imei, channel, status, filesize, filename, atMs, ...external };
  if (!isFinal(status)) return publish(deps.bus, uploadChanged, body, uploadSubject(uploadId, 'progress'));
  const subject = uploadSubject(uploadId, 'closed');
  try {
    const options = { msgID: `${subject}:${status}`, timeout: 2_000 };
    await publishToStream(deps.bus, subject, encodeJson(body), options);
  } catch (error) {
    log.warn({ err: error, uploadId }, 'could not publish the end of an upload');
  }
}

/** Closes the FTP sessions of an upload. */
export const revokeUpload = (deps: Pick<Deps, 'bus'>, uploadId: string): void =>
  publish(deps.bus, uploadRevoked, { uploadId });
