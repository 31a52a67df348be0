import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@fleet/service-kit';
import { createFileExclusive } from './create-exclusive.ts';
import { lockVolume, type VolumeLock, type VolumeLockOptions } from './volume-lock.ts';

/** The id of this pod, which the records of its files contain. */
export interface PodIdentity extends VolumeLock {
  readonly id: string;
}

/**
 * Returns the configured pod id, or the one stored on the volume, so that the pod finds its files after a restart. Each
 * pod has its own directory: it stores the id, and a pod with another one is refused. Only one process at a time may use
 * the directory, because a second one would have the same id.
 */
export async function resolvePodIdentity(
  configured: string | undefined,
  clipsDir: string,
  options: VolumeLockOptions,
): Promise<PodIdentity> {
  const idPath = join(clipsDir, '.pod-id');
  if (configured !== undefined) await assertOwnDirectory(idPath, configured);
  const lock = await lockVolume(join(clipsDir, '.pod-lock'), options);
  try {
    return { id: configured ?? (await readOrCreatePodId(idPath)), release: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Stores the id of the first pod on a directory. Throws a ConfigError if the directory belongs to another pod. */
async function assertOwnDirectory(idPath: string, configured: string): Promise<void> {
  await createFileExclusive(idPath, `${configured}\n`);
  const stored = (await readFile(idPath, 'utf8')).trim();
  if (stored === configured) return;
  throw new ConfigError(
    `CLIPS_DIR belongs to the pod ${stored} (${idPath}), and POD_ID is ${configured}. Give each pod its own directory, or set POD_ID to ${stored}, which the records of the files contain.`,
  );
}

async function readOrCreatePodId(path: string): Promise<string> {
  await createFileExclusive(path, `upload-${randomBytes(8).toString('hex')}\n`);
  const id = (await readFile(path, 'utf8')).trim();
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(id))
    throw new ConfigError(`${path} contains no valid pod id. Write the id that upload records contain, or set POD_ID.`);
  return id;
}
