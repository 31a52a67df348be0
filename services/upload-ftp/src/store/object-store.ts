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

interface ObjectStoreOptions {
  /** If absent, the AWS endpoint of the region. */
  readonly endpoint: string | undefined;
  readonly region: string;
  readonly bucket: string;
  /** Prefix of every key, such as `clips/`. */
  readonly prefix: string;
  /** If absent, the credentials that the SDK finds (environment, role of the machine). */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
  /** Time without any data in either direction after which a request fails. Default: 30 s. */
  readonly inactivityTimeoutMs?: number;
}

interface StoredObject {
  readonly sizeBytes: number;
  /** Changes whenever the bytes may have changed. */
  readonly version: string;
  /** In whole seconds; 0 if the server does not return it. */
  readonly storedAtMs: number;
}

/** Memory of one transfer: parts of this size, two at a time. */
const partSizeBytes = 8 * 1024 * 1024;
const connectTimeoutMs = 5_000;
const defaultInactivityTimeoutMs = 30_000;

/** Represents a bucket of S3-compatible object storage, shared by all pods. Keys do not include the prefix. */
export class ObjectStore {
  readonly #client: S3Client;
  /**
   * Client for bytes sent on to a reader that may be slow or pause. The server's inactivity counts only until the
   * response begins.
   */
  readonly #streamingClient: S3Client;
  readonly #options: ObjectStoreOptions;

  constructor(options: ObjectStoreOptions) {
    this.#options = options;
    const inactivityTimeoutMs = options.inactivityTimeoutMs ?? defaultInactivityTimeoutMs;
    const connectionTimeout = connectTimeoutMs;
    const settings: S3ClientConfig = {
      region: options.region,
      // Servers other than AWS rarely have a host name for each bucket.
      ...(options.endpoint === undefined ? {} : { endpoint: options.endpoint, forcePathStyle: true }),
      ...(options.credentials === undefined ? {} : { credentials: options.credentials }),
      maxAttempts: 3,
      // Many compatible servers do not support the checksums that AWS has added.
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

  /** Throws if the bucket cannot be reached or does not exist. */
  async check(): Promise<void> {
    await this.#client.send(new HeadBucketCommand({ Bucket: this.#options.bucket }));
  }

  /** Returns null if the object does not exist. */
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

  /** Opens a range of an object for a reader that may be slow; null if the object does not exist. */
  read(key: string, range: ByteRange): Promise<Readable | null> {
    return this.#read(this.#streamingClient, key, range);
  }

  /** Opens a range of an object for a reader that consumes it without pauses; null if the object does not exist. */
  readFast(key: string, range: ByteRange): Promise<Readable | null> {
    return this.#read(this.#client, key, range);
  }

  async #read(client: S3Client, key: string, range: ByteRange): Promise<Readable | null> {
    try {
      const command = new GetObjectCommand({ ...this.#object(key), Range: `bytes=${range.start}-${range.end}` });
      const { Body } = await client.send(command);
      if (Body instanceof Readable) return Body;
      throw new Error('the object storage returned no body');
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /** Stores a local file, in parts if it is large. An interrupted transfer leaves no visible object. */
  async put(key: string, localFile: string, contentType: string): Promise<void> {
    const upload = new Upload({
      client: this.#client,
      params: { ...this.#object(key), Body: createReadStream(localFile), ContentType: contentType },
      partSize: partSizeBytes,
      queueSize: 2,
    });
    await upload.done();
  }

  /** Removes an object. Succeeds if it does not exist. */
  remove(key: string): Promise<void> {
    return this.#delete([`${this.#options.prefix}${key}`]);
  }

  /** Removes all objects whose keys start with `start`. */
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
    if (Errors[0] !== undefined) throw new Error(`could not delete an object: ${Errors[0].Code}`);
  }

  #object(key: string): { Bucket: string; Key: string } {
    return { Bucket: this.#options.bucket, Key: `${this.#options.prefix}${key}` };
  }
}

// HEAD responses have no body with details beyond 404.
const isNotFoundError = (error: unknown): boolean =>
  error instanceof NoSuchKey ||
  error instanceof NotFound ||
  (error instanceof S3ServiceException && error.$metadata.httpStatusCode === 404 && error.name !== 'NoSuchBucket');
