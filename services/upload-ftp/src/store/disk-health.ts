import { randomBytes } from 'node:crypto';
import { rm, statfs, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const cacheTtlMs = 5_000;

/** Whether a directory takes bytes; looked at again every few seconds at most. */
export class DiskHealth {
  readonly #dir: string;
  readonly #minFreeBytes: number;
  #checkedAtMs = Number.NEGATIVE_INFINITY;
  #error: Promise<string | null> = Promise.resolve(null);

  constructor(dir: string, minFreeBytes: number) {
    this.#dir = dir;
    this.#minFreeBytes = minFreeBytes;
  }

  /** Why no more clips can be taken, in a sentence; null when they can. */
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
      return (await this.freeBytes()) >= this.#minFreeBytes ? null : 'There is no space left for clips.';
    } catch {
      // Which of them it was does not matter to whoever asks: nothing can be stored.
      return 'The place for clips cannot be written to.';
    }
  }
}
