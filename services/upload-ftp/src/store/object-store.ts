import { createReadStream } from 'node:fs';
import { Readable } from 'node:stream';
import {
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadBucketCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  NoSuchKey,
  NotFound,
  S3Client,
  type S3ClientConfig,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import type { ByteRange } from '../clips/byte-range.ts';

export interface ObjectStoreOptions {
  /** Absent: that of AWS for the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Before each key, such as `clips/`. */
  readonly prefix: string;
  /** Absent: what the SDK finds (environment, role of the machine). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** A server that neither takes nor gives anything for so long is given up; default 30 s. */
  readonly inactivityTimeoutMs?: number;
}

export interface StoredObject {
  readonly sizeBytes: number;
  /** Another one whenever the bytes may be others. */
  readonly version: string;
  /** In whole seconds; 0 where the server does not tell. */
  readonly storedAtMs: number;
}

/** Memory of one transfer: parts of this size, two at a time. */
const partSizeBytes = 8 * 1024 * 1024;
const connectTimeoutMs = 5_000;
const defaultInactivityTimeoutMs = 30_000;

/** A bucket of S3-compatible object storage, which all pods share; keys are those behind the prefix. */
export class ObjectStore {
  readonly #client: S3Client;
  /** For bytes that go to somebody who may take them slowly, or pause: only until an answer begins is silence the server's fault. */
  readonly #streamingClient: S3Client;
  readonly #options: ObjectStoreOptions;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    const inactivityTimeoutMs = options.inactivityTimeoutMs ?? defaultInactivityTimeoutMs;
    const connectionTimeout = connectTimeoutMs;
    const settings: S3ClientConfig = {
      region: options.region,
      // Servers other than AWS seldom have a name for each bucket.
      ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint, forcePathStyle: true }),
      ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
      maxAttempts: 3,
      // Many compatible servers do not know the checksums that AWS has added.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
    };
    this.#client = new S3Client({
      ...settings,
      requestHandler: { connectionTimeout, socketTimeout: inactivityTimeoutMs },
    });
    this.#streamingClient = new S3Client({
      ...settings,
      requestHandler: { connectionTimeout, requestTimeout: inactivityTimeoutMs, throwOnRequestTimeout: true },
    });
  }

  /** Fails where the bucket cannot be reached or is not there. */
  async check(): Promise<void> {
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#options.bucket }));
  }

  /** Null when it is not there. */
  async find(key: string): Promise<StoredObject | null> {
    try {
      const found = await this.#client.send(new HeadObjectCommand(this.#object(key)));
      const storedAtMs = found.LastModified?.getTime() ?? 0;
      return { sizeBytes: found.ContentLength ?? 0, version: found.ETag ?? '', storedAtMs };
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /** Opens bytes of an object for somebody who may take them slowly; null when it is not there. */
  read(key: string, range: ByteRange): Promise<Readable | null> {
    return this.#read(this.#streamingClient, key, range);
  }

  /** Opens bytes of an object for somebody who takes them at once; null when it is not there. */
  readFast(key: string, range: ByteRange): Promise<Readable | null> {
    return this.#read(this.#client, key, range);
  }

  async #read(client: S3Client, key: string, range: ByteRange): Promise<Readable | null> {
    try {
      const command = new GetObjectCommand({ ...this.#object(key), Range: `bytes=${range.start}-${range.end}` });
      const { Body } = await client.send(command);
      if (Body instanceof Readable) return Body;
      throw new Error('the object storage answered without a body');
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /** Stores a local file, in parts where it is large; what an interrupted transfer leaves is not visible. */
  async put(key: string, localFile: string, contentType: string): Promise<void> {
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#object(key), Body: createReadStream(localFile), ContentType: contentType },
      partSize: partSizeBytes,
      queueSize: 2,
    });
    await upload.done();
  }

  /** Removes an object; removing what is not there succeeds. */
  remove(key: string): Promise<void> {
    return this.#delete([`${this.#options.prefix}${key}`]);
  }

  /** Removes everything whose key begins so. */
  async removeAll(start: string): Promise<void> {
    const { bucket: Bucket, prefix } = this.#options;
    for (;;) {
      const { Contents = [] } = await this.#client.send(
        new ListObjectsV2Command({ Bucket, Prefix: `${prefix}${start}`, MaxKeys: 1000 }),
      );
      const keys = Contents.flatMap(({ Key }) => (Key === undefined ? [] : [Key]));
      if (keys.length === 0) return;
      await this.#delete(keys);
    }
  }

  close(): void {
    this.#client.destroy();
    this.#streamingClient.destroy();
  }

  async #delete(keys: readonly string[]): Promise<void> {
    const Delete = { Objects: keys.map((Key) => ({ Key })), Quiet: true };
    const { Errors = [] } = await this.#client.send(new DeleteObjectsCommand({ Bucket: this.#options.bucket, Delete }));
    if (Errors[0] !== undefined) throw new Error(`the object storage did not delete a file: ${Errors[0].Code}`);
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: `${this.#options.prefix}${key}` };
  }
}

/** HEAD has no body that could say more than 404. */
const isNotFoundError = (error: unknown): boolean =>
  error instanceof NoSuchKey ||
  error instanceof NotFound ||
  (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket');
