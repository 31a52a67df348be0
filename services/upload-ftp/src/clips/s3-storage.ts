import { createReadStream, createWriteStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { UploadPlace } from '../store/clip-directory.ts';
import type { ByteRange } from './byte-range.ts';
import { ClipGoneError, type ClipName, type ClipStorage, type StoredClip } from './clip-storage.ts';

export interface S3Options {
  /** Absent: that of AWS for the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Before each key, such as `clips/`. */
  readonly prefix: string;
  /** Absent: what the SDK finds (environment, role of the machine). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

/** Memory of one transfer: parts of this size, two at a time. */
const partSizeBytes = 8 * 1024 * 1024;
const connectLimitMs = 5_000;
/** A server that says nothing for so long in an answer. */
const silenceLimitMs = 30_000;

/** Clips in S3-compatible object storage: every pod can hand them out and remove them. Keys: `<prefix><upload>/files/<path>` and `<prefix><upload>/clip.mp4`. */
export class S3Storage implements ClipStorage {
  readonly #client: S3Client;
  readonly #options: S3Options;

  constructor(options: S3Options) {
    this.#options = options;
    this.#client = new S3Client({
      region: options.region,
      // Servers other than AWS seldom have a name for each bucket.
      ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint, forcePathStyle: true }),
      ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
      maxAttempts: 3,
      requestHandler: { connectionTimeout: connectLimitMs, requestTimeout: silenceLimitMs },
      // Many compatible servers do not know the checksums that AWS has added.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    });
  }

  /** Fails where the bucket can not be reached or is not there. */
  async check(): Promise<void> {
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#options.bucket }));
  }

  async find(place: UploadPlace, name: ClipName): Promise<StoredClip | null> {
    try {
      const found = await this.#client.send(new HeadObjectCommand(this.#object(place, name)));
      return { sizeBytes: found.ContentLength ?? 0, version: found.ETag ?? '' };
    } catch (error) {
      if (isAbsent(error)) return null;
      throw error;
    }
  }

  async read(place: UploadPlace, name: ClipName, range: ByteRange): Promise<Readable> {
    try {
      const command = new GetObjectCommand({
        ...this.#object(place, name),
        Range: `bytes=${range.start}-${range.end}`,
      });
      const { Body } = await this.#client.send(command);
      if (Body instanceof Readable) return Body;
      throw new Error('the object storage answered without a body');
    } catch (error) {
      if (isAbsent(error)) throw new ClipGoneError('its files are gone', { cause: error });
      throw error;
    }
  }

  async localCopy(place: UploadPlace, name: ClipName, workDir: string): Promise<string> {
    const stored = await this.find(place, name);
    if (stored === null) throw new ClipGoneError('its files are gone');
    const path = join(workDir, `copy-${this.#copies++}`);
    if (stored.sizeBytes === 0) await (await open(path, 'w')).close();
    else await pipeline(await this.read(place, name, { start: 0, end: stored.sizeBytes - 1 }), createWriteStream(path));
    return path;
  }

  /** The first one stays: what two pods make at the same time is stored once. */
  async putMp4(place: UploadPlace, localFile: string): Promise<StoredClip> {
    if ((await this.find(place, 'mp4')) === null) await this.put(place, 'mp4', localFile, 'video/mp4');
    const stored = await this.find(place, 'mp4');
    if (stored === null) throw new ClipGoneError('its MP4 is gone');
    return stored;
  }

  /** Stores a local file, in parts where it is large; what an interrupted transfer leaves is not visible. */
  async put(place: UploadPlace, name: ClipName, localFile: string, contentType: string): Promise<void> {
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#object(place, name), Body: createReadStream(localFile), ContentType: contentType },
      partSize: partSizeBytes,
      queueSize: 2,
    });
    await upload.done();
  }

  /** Removes everything of an upload; removing what is not there succeeds. */
  async remove(uploadId: string): Promise<void> {
    const { bucket: Bucket, prefix } = this.#options;
    for (;;) {
      const { Contents = [] } = await this.#client.send(
        new ListObjectsV2Command({ Bucket, Prefix: `${prefix}${uploadId}/`, MaxKeys: 1000 }),
      );
      const Objects = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [{ Key }]));
      if (Objects.length === 0) return;
      const { Errors = [] } = await this.#client.send(
        new DeleteObjectsCommand({ Bucket, Delete: { Objects, Quiet: true } }),
      );
      if (Errors[0] !== undefined) throw new Error(`the object storage did not delete a clip: ${Errors[0].Code}`);
    }
  }

  close(): void {
    this.#client.destroy();
  }

  #copies = 0;

  #object(place: UploadPlace, name: ClipName): { Bucket: string; Key: string } {
    const { bucket, prefix } = this.#options;
    return { Bucket: bucket, Key: `${prefix}${place.id}/${name === 'mp4' ? 'clip.mp4' : `files/${name.file}`}` };
  }
}

/** HEAD has no body that could say more than 404. */
const isAbsent = (error: unknown): boolean =>
  error instanceof NoSuchKey ||
  error instanceof NotFound ||
  (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket');
