import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
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

/** What is known of a file beside its bytes. */
export type MediaMetadata = Omit<MediaStored, 'fileId' | 'server' | 'sizeBytes'> & {
  /** What tells the file from another of the same terminal with the same bytes. */
  readonly fileIdSeed: string;
};

/** There is no room for another file now. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError';
}

export interface MediaFilesDeps {
  readonly bus: Bus;
  readonly pod: string;
  readonly directory: MediaDirectory;
  /** Null where files stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly disk: Pick<DiskHealth, 'findError'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

type PendingEvent = Omit<MediaStored, 'server'>;

/** Whoever sends a file waits no longer for the broker. */
const publishTimeoutMs = 10_000;
/** Between noting that a file is to be told of and moving it to its place, where another pod of the volume may look. */
const moveTimeoutMs = 600_000;

const maxFailuresInRow = 3;

export const toObjectKey = ({ imei, fileId }: MediaRef): string => `media/${imei}/${fileId}`;

/**
 * Files that terminals send: received, kept, and told of in the stream MEDIA. In an order that no crash can harm: a note on disk of what is to be told, the file's
 * place, object storage (where there is one), MEDIA, and only then the note goes. `sweep` does what was interrupted.
 */
export class MediaFiles {
  readonly #deps: MediaFilesDeps;
  readonly #publisher: JetStreamPublisher;
  readonly #mutex = new KeyedMutex();

  constructor(deps: MediaFilesDeps) {
    this.#deps = deps;
    this.#publisher = new JetStreamPublisher(deps.bus, {
      timeoutMs: publishTimeoutMs,
      onRejected: (detail) => deps.log.debug({ detail }, 'a file could not be told of yet'),
    });
  }

  /** Begins to receive a file; a NoSpaceError where the disk takes no more. */
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
   * Keeps a received file. Resolves once it cannot be lost any more, neither the file nor the telling of it: both are on disk, and normally in object storage
   * (where there is one) and in MEDIA, too; what could not be reached is reached later. The same file again (imei, seed, bytes) is the same one.
   * Whether it succeeds or throws, the incoming file is gone afterwards.
   */
  async store(file: IncomingFile, { fileIdSeed, ...metadata }: MediaMetadata): Promise<MediaStored> {
    try {
      if (file.imei !== metadata.imei) throw new RangeError('a file of another terminal');
      const { sizeBytes } = file;
      await file.finish();
      const fileId = createFileId(metadata.imei, fileIdSeed, await hashFile(file.path));
      const pendingEvent: PendingEvent = { ...metadata, fileId, sizeBytes };
      const stored = this.#toStoredEvent(pendingEvent);
      if (!mediaStored.check(stored)) throw new RangeError('what is known of a file cannot be told');
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

  /** Removes a file wherever it is, unless it came (again) at `storedBeforeMs` or later; removing what is not there succeeds. */
  remove(ref: MediaRef, storedBeforeMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { directory, objects } = this.#deps;
    return this.#mutex.runExclusive(ref.fileId, async () => {
      // On its way to object storage it takes the place of what is there.
      if (((await directory.findStoredAtMs(ref)) ?? 0) >= storedBeforeMs) return;
      await directory.clearPendingEvent(ref);
      if (objects !== null) await removeObject(objects, toObjectKey(ref), storedBeforeMs);
      await directory.remove(ref);
    });
  }

  /** Does what a crash or an outage has left: files go to object storage and are told of. Answers null where all has been tried. */
  async sweep({ isOver }: Pick<JobSlice<'some'>, 'isOver'>): Promise<'some' | null> {
    let failuresInRow = 0;
    // In another order each time: files that always fail do not keep the others from being told of.
    for (const ref of shuffle(await this.#deps.directory.listPendingEvents())) {
      if (isOver()) return 'some';
      try {
        await this.#mutex.runExclusive(ref.fileId, () => this.#resume(ref));
        failuresInRow = 0;
      } catch (error) {
        this.#onError(error, ref.fileId);
        failuresInRow += 1;
        // Most likely a backend is away: the others would wait for it one after the other.
        if (failuresInRow === maxFailuresInRow) return 'some';
      }
    }
    return null;
  }

  /** Waits for what is under way. */
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
      log.error(ref, 'a note of a file cannot be read');
      return directory.clearPendingEvent(ref);
    }
    if (await this.#finalize(pendingEvent)) return;
    // It never came to its place: its sender was told so, or cut off.
    if (saved.ageMs > moveTimeoutMs) await directory.clearPendingEvent(ref);
  }

  /** Brings a file from its place in the directory to where it stays, and tells of it; false when it is nowhere. */
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
    // What is told twice of one receiving is one message; a file that is sent again has to be told of, as its record may be gone by now.
    messageHeaders.set('Nats-Msg-Id', `${stored.fileId}-${stored.receivedAtMs}`);
    const payload = Buffer.from(JSON.stringify(stored));
    return new Promise((resolve, reject) => {
      const done = (isStored: boolean): void =>
        isStored ? resolve() : reject(new Error('the broker has not stored that a file is there'));
      if (!this.#publisher.publish(mediaStoredSubject(stored.imei), payload, done, messageHeaders)) done(false);
    });
  }

  #toStoredEvent(pendingEvent: PendingEvent): MediaStored {
    return { ...pendingEvent, server: this.#deps.objects === null ? this.#deps.pod : anyPod };
  }

  #onError(error: unknown, fileId: string): void {
    this.#deps.metrics.delayed.inc();
    this.#deps.log.warn({ err: error, fileId }, 'a file is on disk only, and told of later');
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
    // A disk that lost bytes.
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
