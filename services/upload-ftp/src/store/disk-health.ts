import { randomBytes } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const cacheTtlMs = 5_000;

/** Checks whether a directory is writable and has free space. Results are cached for a few seconds. */
export class DiskHealth {
  readonly #dir: string;
  readonly #minFreeBytes: number;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #error: Promise<string | null> = Promise.resolve(null);

  constructor(dir: string, minFreeBytes: number) {
    this.#dir = dir;
    this.#minFreeBytes = minFreeBytes;
  }

  /** Returns a sentence that says why no files can be stored; null if they can. */
  findError(): Promise<string | null> {
    if (performance.now() - this.#checkedAtMs > cacheTtlMs) {
      this.#checkedAtMs = performance.now();
      this.#error = this.#check();
    }
    return this.#error;
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.#dir);
    return bavail * bsize;
  }

  async #check(): Promise<string | null> {
    const file = join(this.#dir, `.check-${randomBytes(6).toString('hex')}`);
    try {
      await writeFile(file, 'x');
      await rm(file);
      return (await this.freeBytes()) >= this.#minFreeBytes ? null : 'There is not enough free disk space.';
    } catch {
      // The cause does not matter to the caller: nothing can be stored.
      return 'The storage directory is not writable.';
    }
  }
}
