import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import {
  type Bus,
  decodeJson,
  headers,
  type MediaStored,
  mediaStored,
  mediaStoredSubject,
  StoredPublisher,
} from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { anyPod } from '../clips/clip-keeper.ts';
import type { MediaMetrics } from '../metrics.ts';
import type { DiskCheck } from '../store/disk-check.ts';
import type { MediaDirectory, MediaPlace } from '../store/media-directory.ts';
import type { ObjectStore } from '../store/object-store.ts';
import { Turns } from '../store/turns.ts';
import type { SweepTurn } from '../use-cases/turn-taker.ts';
import { IncomingFile } from './incoming-file.ts';

export { IncomingFile } from './incoming-file.ts';

/** What is known of a file beside its bytes. */
export type MediaAbout = Omit<MediaStored, 'fileId' | 'server' | 'sizeBytes'> & {
  /** What tells the file from another of the same terminal with the same bytes. */
  readonly fileIdSeed: string;
};

/** There is no room for another file now. */
export class NoSpaceError extends Error {
  override readonly name = 'NoSpaceError';
}

export interface MediaFilesParts {
  readonly bus: Bus;
  readonly pod: string;
  readonly directory: MediaDirectory;
  /** Null where files stay in the directory. */
  readonly objects: ObjectStore | null;
  readonly disk: Pick<DiskCheck, 'obstacle'>;
  readonly metrics: MediaMetrics;
  readonly log: Logger;
}

type Untold = Omit<MediaStored, 'server'>;

/** Whoever sends a file waits no longer for the broker. */
const tellLimitMs = 10_000;
/** Between noting that a file is to be told of and moving it to its place, where another pod of the volume may look. */
const placingLimitMs = 600_000;

const maxFailuresInRow = 3;

export const mediaKey = ({ imei, fileId }: MediaPlace): string => `media/${imei}/${fileId}`;

/**
 * Files that terminals send: received, kept, and told of in the stream MEDIA. In an order that no crash can harm: a note on disk of what is to be told, the file's
 * place, object storage (where there is one), MEDIA, and only then the note goes. `sweep` does what was interrupted.
 */
export class MediaFiles {
  readonly #parts: MediaFilesParts;
  readonly #publisher: StoredPublisher;
  readonly #turns = new Turns();

  constructor(parts: MediaFilesParts) {
    this.#parts = parts;
    this.#publisher = new StoredPublisher(parts.bus, {
      giveUpAfterMs: tellLimitMs,
      onRefused: (detail) => parts.log.debug({ detail }, 'a file could not be told of yet'),
    });
  }

  /** Begins to receive a file; a NoSpaceError where the disk takes no more. */
  async open(imei: string): Promise<IncomingFile> {
    const obstacle = await this.#parts.disk.obstacle();
    if (obstacle !== null) throw new NoSpaceError(obstacle);
    const { path, release } = this.#parts.directory.incoming();
    try {
      return await IncomingFile.create(imei, path, release);
    } catch (error) {
      release();
      throw error;
    }
  }

  /**
   * Keeps a received file. Resolves once it can not be lost any more, neither the file nor the telling of it: both are on disk, and normally in object storage
   * (where there is one) and in MEDIA, too; what could not be reached is reached later. The same file again (imei, seed, bytes) is the same one.
   * Whether it succeeds or throws, the incoming file is gone afterwards.
   */
  async keep(file: IncomingFile, { fileIdSeed, ...about }: MediaAbout): Promise<MediaStored> {
    try {
      if (file.imei !== about.imei) throw new RangeError('a file of another terminal');
      const { sizeBytes } = file;
      await file.finish();
      const fileId = fileIdOf(about.imei, fileIdSeed, await sha256Of(file.path));
      const untold: Untold = { ...about, fileId, sizeBytes };
      const stored = this.#storedOf(untold);
      if (!mediaStored.check(stored)) throw new RangeError('what is known of a file can not be told');
      await this.#turns.take(fileId, async () => {
        await this.#parts.directory.noteUntold(untold, JSON.stringify(untold));
        await this.#parts.directory.take(file.path, untold);
        await this.#settle(untold).catch((error: unknown) => this.#onError(error, fileId));
      });
      this.#parts.metrics.kept.inc({ kind: about.kind, source: about.source });
      this.#parts.metrics.keptBytes.inc(sizeBytes);
      return stored;
    } finally {
      await file.discard();
    }
  }

  /** Removes a file wherever it is, unless it came (again) at `storedBeforeMs` or later; removing what is not there succeeds. */
  remove(place: MediaPlace, storedBeforeMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { directory, objects } = this.#parts;
    return this.#turns.take(place.fileId, async () => {
      // On its way to object storage it takes the place of what is there.
      if (((await directory.storedAtMs(place)) ?? 0) >= storedBeforeMs) return;
      await directory.noteTold(place);
      if (objects !== null) await removeObject(objects, mediaKey(place), storedBeforeMs);
      await directory.remove(place);
    });
  }

  /** Does what a crash or an outage has left: files go to object storage and are told of. Answers null where all has been tried. */
  async sweep({ isOver }: Pick<SweepTurn<'some'>, 'isOver'>): Promise<'some' | null> {
    let failuresInRow = 0;
    // In another order each time: files that always fail do not keep the others from being told of.
    for (const place of shuffled(await this.#parts.directory.untoldPlaces())) {
      if (isOver()) return 'some';
      try {
        await this.#turns.take(place.fileId, () => this.#sweepOne(place));
        failuresInRow = 0;
      } catch (error) {
        this.#onError(error, place.fileId);
        failuresInRow += 1;
        // Most likely a backend is away: the others would wait for it one after the other.
        if (failuresInRow === maxFailuresInRow) return 'some';
      }
    }
    return null;
  }

  /** Waits for what is under way. */
  async stop(): Promise<void> {
    await this.#turns.whenIdle();
    this.#publisher.stop();
  }

  async #sweepOne(place: MediaPlace): Promise<void> {
    const { directory, log } = this.#parts;
    const noted = await directory.untold(place);
    if (noted === null) return;
    const untold = readNote(noted.note);
    if (untold === null) {
      log.error(place, 'a note of a file can not be read');
      return directory.noteTold(place);
    }
    if (await this.#settle(untold)) return;
    // It never came to its place: its sender was told so, or cut off.
    if (noted.ageMs > placingLimitMs) await directory.noteTold(place);
  }

  /** Brings a file from its place in the directory to where it stays, and tells of it; false when it is nowhere. */
  async #settle(untold: Untold): Promise<boolean> {
    const { directory, objects } = this.#parts;
    const isHere = (await directory.sizeOf(untold)) !== null;
    if (objects !== null) {
      const key = mediaKey(untold);
      if (isHere) await objects.put(key, directory.path(untold), untold.mimeType);
      else if ((await objects.find(key)) === null) return false;
    } else if (!isHere) return false;
    await this.#tell(this.#storedOf(untold));
    if (objects !== null) await directory.remove(untold);
    await directory.noteTold(untold);
    return true;
  }

  #tell(stored: MediaStored): Promise<void> {
    const head = headers();
    // What is told twice of one receiving is one message; a file that is sent again has to be told of, as its record may be gone by now.
    head.set('Nats-Msg-Id', `${stored.fileId}-${stored.receivedAtMs}`);
    const payload = Buffer.from(JSON.stringify(stored));
    return new Promise((resolve, reject) => {
      const done = (isStored: boolean): void =>
        isStored ? resolve() : reject(new Error('the broker has not stored that a file is there'));
      if (!this.#publisher.publish(mediaStoredSubject(stored.imei), payload, done, head)) done(false);
    });
  }

  #storedOf(untold: Untold): MediaStored {
    return { ...untold, server: this.#parts.objects === null ? this.#parts.pod : anyPod };
  }

  #onError(error: unknown, fileId: string): void {
    this.#parts.metrics.delayed.inc();
    this.#parts.log.warn({ err: error, fileId }, 'a file is on disk only, and told of later');
  }
}

async function removeObject(objects: ObjectStore, key: string, storedBeforeMs: number): Promise<void> {
  const isNewer =
    storedBeforeMs !== Number.POSITIVE_INFINITY && ((await objects.find(key))?.storedAtMs ?? 0) >= storedBeforeMs;
  if (!isNewer) await objects.remove(key);
}

function readNote(note: string): Untold | null {
  try {
    const read = decodeJson(Buffer.from(note)) as Untold;
    return mediaStored.check({ ...read, server: anyPod }) ? read : null;
  } catch {
    // A disk that lost bytes.
    return null;
  }
}

function shuffled<T>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, key: Math.random() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

const fileIdOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 24);

async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) hash.update(chunk as Buffer);
  return hash.digest('hex');
}
