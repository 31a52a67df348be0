// A small disk for the clips of a product, which can be filled and enlarged. Needs root.
import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

const size = '6500M';
const enlargedSize = '9000M';
const fillBytes = 2_000_000_000;

function run(command, ...args) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} failed: ${error?.message ?? stderr}`);
}

/** A file system in memory at `<dataDir>/clips`. */
export class SmallDisk {
  #folder;
  #isMounted = false;

  constructor(dataDir) {
    this.#folder = join(dataDir, 'clips');
  }

  /** Mounts the disk. Returns false if the machine does not allow that. */
  mount() {
    mkdirSync(this.#folder, { recursive: true });
    this.#isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', this.#folder]).status === 0;
    return this.#isMounted;
  }

  /** Leaves less than 5 GB free. */
  fill() {
    run('fallocate', '-l', String(fillBytes), join(this.#folder, '.filler'));
  }

  /** Does what the runbook says: enlarges the volume. */
  enlarge() {
    run('mount', '-o', `remount,size=${enlargedSize}`, this.#folder);
  }

  unmount() {
    if (this.#isMounted) run('umount', this.#folder);
  }
}
