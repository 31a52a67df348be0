import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ConfigError } from '@fleet/service-kit';
import { makeOnce } from './make-once.ts';
import { lockVolume, type VolumeLock, type VolumeLockOptions } from './volume-lock.ts';

/** Name of this pod, which records of its files keep. */
export interface OwnPod extends VolumeLock {
  readonly id: string;
}

/**
 * The pod's name as it is set; else the one that its volume keeps, so that it finds its files again after a restart. A volume is then for one pod at a time, as a
 * second one would take the same name.
 */
export async function ownPod(
  configured: string | undefined,
  clipsDir: string,
  options: VolumeLockOptions,
): Promise<OwnPod> {
  if (configured !== undefined) return { id: configured, release: async () => undefined };
  const lock = await lockVolume(join(clipsDir, '.pod-lock'), options);
  try {
    return { id: await keptId(join(clipsDir, '.pod-id')), release: () => lock.release() };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

async function keptId(path: string): Promise<string> {
  await makeOnce(path, `upload-${randomBytes(8).toString('hex')}\n`);
  const id = (await readFile(path, 'utf8')).trim();
  if (!/^[A-Za-z0-9_-]{1,63}$/.test(id))
    throw new ConfigError(`${path} holds no pod id: write the one that records of uploads name, or set POD_ID.`);
  return id;
}
