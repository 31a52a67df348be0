import type { Logger } from '@fleet/service-kit';
import type { UploadRecord, UploadRepository } from '@fleet/storage';

interface ExpectedSizesDeps {
  readonly records: Pick<UploadRepository, 'set'>;
  /** Returns the number of bytes that the camera is likely to send; null if the camera cannot be queried now. */
  readonly estimateBytes: (record: UploadRecord) => Promise<number | null>;
  readonly log: Logger;
}

/** Looks up the size of a clip once its first bytes have arrived, so that progress can be shown in percent. */
export class ExpectedSizes {
  readonly #deps: ExpectedSizesDeps;
  readonly #pending = new Set<string>();

  constructor(deps: ExpectedSizesDeps) {
    this.#deps = deps;
  }

  /** Queries the camera of an upload that has bytes, unless it was queried before. Never throws. */
  async onProgress(record: UploadRecord): Promise<void> {
    const { _id: uploadId, expectedBytes, filesize } = record;
    if (expectedBytes !== undefined || filesize === 0 || this.#pending.has(uploadId)) return;
    this.#pending.add(uploadId);
    try {
      const bytes = await this.#deps.estimateBytes(record);
      const known = bytes === null || bytes <= 0 ? null : bytes;
      await this.#deps.records.set(uploadId, ['uploading', 'paused', 'completed'], { expectedBytes: known });
    } catch (error) {
      this.#deps.log.warn({ err: error, uploadId }, 'could not look up the size of a clip');
    } finally {
      this.#pending.delete(uploadId);
    }
  }
}
