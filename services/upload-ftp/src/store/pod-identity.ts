import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@fleet/service-kit';
import { createFileExclusive } from './create-exclusive.ts';
import { lockVolume, type VolumeLock, type VolumeLockOptions } from './volume-lock.ts';

/** Name of this pod, which records of its files keep. */
export interface PodIdentity extends VolumeLock {
  readonly id: string;
}

/**
 * The pod's name as it is set; else the one that its volume keeps, so that it finds its files again after a restart. A volume is then for one pod at a time, as a
 * second one would take the same name.
 */
export async function resolvePodIdentity(
  configured: string | undefined,
  clipsDir: string,
  options: VolumeLockOptions,
): Promise<PodIdentity> {
  if (configured !== undefined) return { id: configured, release: async () => undefined };
  const lock = await lockVolume(join(clipsDir, '.pod-lock'), options);
  try {
    return { id: await readOrCreatePodId(join(clipsDir, '.pod-id')), release: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function readOrCreatePodId(path: string): Promise<string> {
  await createFileExclusive(path, `upload-${randomBytes(8).toString('hex')}\n`);
  const id = (await readFile(path, 'utf8')).trim();
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(id))
    throw new ConfigError(`${path} holds no pod id: write the one that records of uploads name, or set POD_ID.`);
  return id;
}
