import { randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { dayMs } from '@fleet/service-kit';
import type { ByteRange } from '../clips/byte-range.ts';
import { isNotFoundError } from './clip-directory.ts';

/** Identifies a file of a terminal. */
export interface MediaRef {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly fileId: string;
}

const imeiPattern = /^[1-9][0-9A-F]{0,19}$/;
const fileIdPattern = /^[0-9a-f]{24}$/;
/** Names that cannot be terminal numbers. */
const incomingName = '.incoming';
/** The outbox. The name is that of existing volumes. */
const pendingEventsName = '.untold';

/** A file of another pod on the same volume counts as abandoned if it has not changed for this time. */
const foreignLeftoverTtlMs = dayMs;

/**
 * Manages the directory of files that terminals send on their own: `<root>/<imei>/<fileId>`, beside the clips. Files
 * being received are in `.incoming`, with names that start with their pod's name. The outbox contains one small file
 * for each stored file that MEDIA may not contain yet.
 */
export class MediaDirectory {
  readonly root: string;
  readonly #pod: string;
  readonly #inUse = new Set<string>();

  constructor(clipsDir: string, pod: string) {
    this.root = join(resolve(clipsDir), '.media');
    this.#pod = pod;
  }

  path({ imei, fileId }: MediaRef): string {
    if (!imeiPattern.test(imei) || !fileIdPattern.test(fileId))
      throw new RangeError('invalid reference of a media file');
    return join(this.root, imei, fileId);
  }

  /** Creates the directories, and removes files that this pod was receiving when it ended. */
  async prepare(): Promise<void> {
    for (const name of [incomingName, pendingEventsName]) await createDir(join(this.root, name));
    await this.removeLeftovers();
  }

  /** Reserves a path for a file to receive. Call `release` once it has ended. */
  reserveIncoming(): { readonly path: string; readonly release: () => void } {
    const name = `${this.#pod}.${randomBytes(12).toString('hex')}`;
    this.#inUse.add(name);
    return { path: join(this.root, incomingName, name), release: () => this.#inUse.delete(name) };
  }

  /** Removes files whose pod ended while receiving them. */
  async removeLeftovers(): Promise<void> {
    const dir = join(this.root, incomingName);
    for (const name of await readdir(dir)) {
      if (this.#inUse.has(name)) continue;
      const isMine = name.startsWith(`${this.#pod}.`);
      if (isMine || (await readAgeMs(join(dir, name))) > foreignLeftoverTtlMs)
        await rm(join(dir, name), { force: true });
    }
  }

  /** Moves a received file, already flushed to disk, to its permanent path. */
  async moveIn(from: string, ref: MediaRef): Promise<void> {
    const to = this.path(ref);
    await createDir(dirname(to));
    const now = new Date();
    await utimes(from, now, now);
    await rename(from, to);
    await syncDir(dirname(to));
  }

  /** Returns the size of a file; null if it is not here. */
  async sizeOf(ref: MediaRef): Promise<number | null> {
    try {
      const found = await stat(this.path(ref));
      return found.isFile() ? found.size : null;
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /** Opens a range of a file; null if it is not here. */
  async read(ref: MediaRef, range: ByteRange): Promise<Readable | null> {
    try {
      const file = await open(this.path(ref));
      return file.createReadStream({ ...range, highWaterMark: 256 * 1024 });
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /** Returns the time at which a file was stored; null if it is not here. */
  async findStoredAtMs(ref: MediaRef): Promise<number | null> {
    try {
      return (await stat(this.path(ref))).mtimeMs;
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  async remove(ref: MediaRef): Promise<void> {
    await rm(this.path(ref), { force: true });
  }

  /** Saves the outbox entry of a file, so that a crash does not lose its event. */
  async savePendingEvent(ref: MediaRef, eventJson: string): Promise<void> {
    const { path, release } = this.reserveIncoming();
    try {
      const file = await open(path, 'wx', 0o640);
      try {
        await file.writeFile(eventJson);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(path, this.#pendingEventPath(ref));
      await syncDir(join(this.root, pendingEventsName));
    } finally {
      await rm(path, { force: true }).finally(release);
    }
  }

  /** Returns the entry saved by `savePendingEvent` and its age; null if it was cleared. */
  async readPendingEvent(ref: MediaRef): Promise<{ readonly eventJson: string; readonly ageMs: number } | null> {
    const path = this.#pendingEventPath(ref);
    try {
      return { eventJson: await readFile(path, 'utf8'), ageMs: await readAgeMs(path) };
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  async clearPendingEvent(ref: MediaRef): Promise<void> {
    await rm(this.#pendingEventPath(ref), { force: true });
  }

  /** Lists the files with an outbox entry. */
  async listPendingEvents(): Promise<MediaRef[]> {
    return (await readdir(join(this.root, pendingEventsName))).flatMap((name) => {
      const [imei = '', fileId = ''] = name.split('.');
      return imeiPattern.test(imei) && fileIdPattern.test(fileId) ? [{ imei, fileId }] : [];
    });
  }

  #pendingEventPath(ref: MediaRef): string {
    this.path(ref);
    return join(this.root, pendingEventsName, `${ref.imei}.${ref.fileId}`);
  }
}

async function readAgeMs(path: string): Promise<number> {
  try {
    return Date.now() - (await stat(path)).mtimeMs;
  } catch (error) {
    if (isNotFoundError(error)) return 0;
    throw error;
  }
}

/** Creates a directory so that it survives a crash. */
async function createDir(dir: string): Promise<void> {
  const first = await mkdir(dir, { recursive: true, mode: 0o750 });
  if (first !== undefined) await syncDir(dirname(first));
}

async function syncDir(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
