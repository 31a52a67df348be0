import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import {
  type Bus,
  decodeJson,
  headers,
  JetStreamPublisher,
  type MediaStored,
  mediaStored,
  mediaStoredSubject,
} from '@fleet/bus';
import { KeyedMutex, type Logger } from '@fleet/service-kit';
import { anyPod } from '../clips/clip-archiver.ts';
import type { MediaMetrics } from '../metrics.ts';
import type { DiskHealth } from '../store/disk-health.ts';
import type { MediaDirectory, MediaRef } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { JobSlice } from '../use-cases/resumable-job.ts';
import { IncomingFile } from './incoming-file.ts';

export { IncomingFile } from './incoming-file.ts';

/** Metadata of a file. */
export type MediaMetadata = Omit<MediaStored, 'fileId' | 'server' | 'sizeBytes'> & {
  /** Distinguishes the file from others of the same terminal with the same bytes. */
  readonly fileIdSeed: string;
  /** True if the seed alone identifies the file: it is created on request, with other bytes each time. */
  readonly isSeedUnique?: boolean;
};

/** Thrown when there is no disk space for another file. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError';
}

interface MediaFilesDeps {
  readonly bus: Bus;
  readonly pod: string;
  readonly directory: MediaDirectory;
  /** Null if files stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly disk: Pick<DiskHealth, 'findError'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

type PendingEvent = Omit<MediaStored, 'server'>;

/** Maximum time that the sender of a file waits for the broker. */
const publishTimeoutMs = 10_000;
/**
 * Maximum time between saving an outbox entry and moving the file into place. Other pods of the volume may read the
 * entry in between.
 */
const moveTimeoutMs = 600_000;

const maxFailuresInRow = 3;

export const toObjectKey = ({ imei, fileId }: MediaRef): string => `media/${imei}/${fileId}`;

/**
 * Receives and stores files of terminals, and publishes them in the stream MEDIA. Each file is processed in an order
 * that survives a crash: the outbox entry on disk, the move into place, object storage (if configured), the event in
 * MEDIA, and then the deletion of the outbox entry. `sweep` completes interrupted files.
 */
export class MediaFiles {
  readonly #deps: MediaFilesDeps;
  readonly #publisher: JetStreamPublisher;
  readonly #mutex = new KeyedMutex();

  constructor(deps: MediaFilesDeps) {
    this.#deps = deps;
    this.#publisher = new JetStreamPublisher(deps.bus, {
      timeoutMs: publishTimeoutMs,
      onRejected: (detail) => deps.log.debug({ detail }, 'could not publish a file yet'),
    });
  }

  /** Opens a new file to receive. Throws a NoSpaceError if the disk is full. */
  async open(imei: string): Promise<IncomingFile> {
    const storageError = await this.#deps.disk.findError();
    if (storageError !== null) throw new NoSpaceError(storageError);
    const { path, release } = this.#deps.directory.reserveIncoming();
    try {
      return await IncomingFile.create(imei, path, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Stores a received file. Resolves once neither the file nor its event can be lost. Both are then on disk, and
   * normally also in object storage (if configured) and in MEDIA. Steps that failed are retried later. The same file
   * (imei, seed, bytes) gets the same id. The incoming file no longer exists afterwards, whether this succeeds or
   * throws.
   */
  async store(file: IncomingFile, metadataWithSeed: MediaMetadata): Promise<MediaStored> {
    const { fileIdSeed, isSeedUnique = false, ...metadata } = metadataWithSeed;
    try {
      if (file.imei !== metadata.imei) throw new RangeError('the file belongs to another terminal');
      const { sizeBytes } = file;
      await file.finish();
      const fileId = isSeedUnique
        ? createFileId(metadata.imei, fileIdSeed)
        : createFileId(metadata.imei, fileIdSeed, await hashFile(file.path));
      const pendingEvent: PendingEvent = { ...metadata, fileId, sizeBytes };
      const stored = this.#toStoredEvent(pendingEvent);
      if (!mediaStored.check(stored)) throw new RangeError('invalid file metadata');
      await this.#mutex.runExclusive(fileId, async () => {
        await this.#deps.directory.savePendingEvent(pendingEvent, JSON.stringify(pendingEvent));
        await this.#deps.directory.moveIn(file.path, pendingEvent);
        await this.#finalize(pendingEvent).catch((error: unknown) => this.#onError(error, fileId));
      });
      this.#deps.metrics.stored.inc({ kind: metadata.kind, source: metadata.source });
      this.#deps.metrics.storedBytes.inc(sizeBytes);
      return stored;
    } finally {
      await file.discard();
    }
  }

  /** Returns whether the file of a unique seed is stored. It is published then, or will be. */
  async isStored(imei: string, uniqueSeed: string): Promise<boolean> {
    const { directory, objects } = this.#deps;
    const ref = { imei, fileId: createFileId(imei, uniqueSeed) };
    return (
      (await directory.sizeOf(ref)) !== null || (objects !== null && (await objects.find(toObjectKey(ref))) !== null)
    );
  }

  /**
   * Removes a file wherever it is stored, unless it was received (again) at `storedBeforeMs` or later. Succeeds if it
   * does not exist.
   */
  remove(ref: MediaRef, storedBeforeMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { directory, objects } = this.#deps;
    return this.#mutex.runExclusive(ref.fileId, async () => {
      // A newer local file would later replace the object in storage.
      if (((await directory.findStoredAtMs(ref)) ?? 0) >= storedBeforeMs) return;
      await directory.clearPendingEvent(ref);
      if (objects !== null) await removeObject(objects, toObjectKey(ref), storedBeforeMs);
      await directory.remove(ref);
    });
  }

  /**
   * Returns the path of a file, or of a copy at `copyPath` if it is in object storage; null if it does not exist.
   */
  async localCopy(ref: MediaRef, copyPath: string): Promise<string | null> {
    const { directory, objects } = this.#deps;
    if ((await directory.sizeOf(ref)) !== null) return directory.path(ref);
    const key = toObjectKey(ref);
    const found = (await objects?.find(key)) ?? null;
    if (objects === null || found === null || found.sizeBytes === 0) return null;
    const content = await objects.readFast(key, { start: 0, end: found.sizeBytes - 1 });
    if (content === null) return null;
    await pipeline(content, createWriteStream(copyPath));
    return copyPath;
  }

  /**
   * Stores a file that was derived from another one, without an event, and returns its server. It can be created again,
   * so nothing repairs it after a crash.
   */
  async storeDerived(ref: MediaRef, path: string, mimeType: string): Promise<string> {
    const { directory, objects, pod } = this.#deps;
    return this.#mutex.runExclusive(ref.fileId, async () => {
      if (objects === null) await directory.moveIn(path, ref);
      else await objects.put(toObjectKey(ref), path, mimeType);
      return objects === null ? pod : anyPod;
    });
  }

  /**
   * Completes files after a crash or an outage: moves them to object storage and publishes them. Returns null once all
   * have been tried.
   */
  async sweep({ isOver }: Pick<JobSlice<'some'>, 'isOver'>): Promise<'some' | null> {
    let failuresInRow = 0;
    // Random order, so that files that always fail do not block the others.
    for (const ref of shuffle(await this.#deps.directory.listPendingEvents())) {
      if (isOver()) return 'some';
      try {
        await this.#mutex.runExclusive(ref.fileId, () => this.#resume(ref));
        failuresInRow = 0;
      } catch (error) {
        this.#onError(error, ref.fileId);
        failuresInRow += 1;
        // A backend is probably unavailable, so the slice ends here instead of waiting for each file.
        if (failuresInRow === maxFailuresInRow) return 'some';
      }
    }
    return null;
  }

  /** Waits for running operations. */
  async stop(): Promise<void> {
    await this.#mutex.waitUntilIdle();
    this.#publisher.stop();
  }

  async #resume(ref: MediaRef): Promise<void> {
    const { directory, log } = this.#deps;
    const saved = await directory.readPendingEvent(ref);
    if (saved === null) return;
    const pendingEvent = parsePendingEvent(saved.eventJson);
    if (pendingEvent === null) {
      log.error(ref, 'deleted an unreadable outbox entry');
      return directory.clearPendingEvent(ref);
    }
    if (await this.#finalize(pendingEvent)) return;
    // The file was never moved into place: its sender received an error or was disconnected.
    if (saved.ageMs > moveTimeoutMs) await directory.clearPendingEvent(ref);
  }

  /**
   * Moves a file from the directory to its final storage and publishes it. Returns false if the file does not exist.
   */
  async #finalize(pendingEvent: PendingEvent): Promise<boolean> {
    const { directory, objects } = this.#deps;
    const isLocal = (await directory.sizeOf(pendingEvent)) !== null;
    if (objects !== null) {
      const key = toObjectKey(pendingEvent);
      if (isLocal) await objects.put(key, directory.path(pendingEvent), pendingEvent.mimeType);
      else if ((await objects.find(key)) === null) return false;
    } else if (!isLocal) return false;
    await this.#publish(this.#toStoredEvent(pendingEvent));
    if (objects !== null) await directory.remove(pendingEvent);
    await directory.clearPendingEvent(pendingEvent);
    return true;
  }

  #publish(stored: MediaStored): Promise<void> {
    const messageHeaders = headers();
    // Retries of one reception are deduplicated. A file that was received again gets a new event, because its record
    // may have been deleted.
    messageHeaders.set('Nats-Msg-Id', `${stored.fileId}-${stored.receivedAtMs}`);
    const payload = Buffer.from(JSON.stringify(stored));
    return new Promise((resolve, reject) => {
      const done = (isStored: boolean): void =>
        isStored ? resolve() : reject(new Error('the broker did not store the event of a file'));
      if (!this.#publisher.publish(mediaStoredSubject(stored.imei), payload, done, messageHeaders)) done(false);
    });
  }

  #toStoredEvent(pendingEvent: PendingEvent): MediaStored {
    return { ...pendingEvent, server: this.#deps.objects === null ? this.#deps.pod : anyPod };
  }

  #onError(error: unknown, fileId: string): void {
    this.#deps.metrics.delayed.inc();
    this.#deps.log.warn({ err: error, fileId }, 'a file is only on disk, publishing it later');
  }
}

async function removeObject(objects: ObjectStore, key: string, storedBeforeMs: number): Promise<void> {
  const isNewer =
    storedBeforeMs !== Number.POSITIVE_INFINITY && ((await objects.find(key))?.storedAtMs ?? 0) >= storedBeforeMs;
  if (!isNewer) await objects.remove(key);
}

function parsePendingEvent(eventJson: string): PendingEvent | null {
  try {
    const event = decodeJson(Buffer.from(eventJson)) as PendingEvent;
    return mediaStored.check({ ...event, server: anyPod }) ? event : null;
  } catch {
    // The disk has lost bytes.
    return null;
  }
}

function shuffle<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

const createFileId = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24);

async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
