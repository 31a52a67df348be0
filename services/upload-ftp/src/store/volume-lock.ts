import { randomBytes } from 'node:crypto';
import { readFile, readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, runPeriodically } from '@fleet/service-kit';
import { getErrorCode, isNotFoundError } from './clip-directory.ts';
import { createFileExclusive } from './create-exclusive.ts';

interface Holder {
  readonly token: string;
  /** For whoever is refused. */
  readonly host: string;
  readonly processId: number;
  /** Where the process id means something; null where that is not known. */
  readonly processSpace: string | null;
}

export interface VolumeLockOptions {
  /** Another process has it now: this one has not shown for too long that it lives. */
  readonly onLost: () => void;
  readonly onError: (error: unknown) => void;
  readonly heartbeatMs?: number;
  /** A holder that has not shown for so long that it lives is gone. */
  readonly holderTimeoutMs?: number;
}

interface LockTimings {
  readonly heartbeatMs: number;
  readonly holderTimeoutMs: number;
}

/** A volume that one process may have at a time. */
export interface VolumeLock {
  release(): Promise<void>;
}

/** Locks of this process: what another process would have to show by its heartbeat is known here. */
const heldTokens = new Set<string>();

/**
 * Takes a lock that lies at `path`; a ConfigError where a living process has it, be it on another machine. The file system's clock is compared with itself only.
 */
export async function lockVolume(path: string, options: VolumeLockOptions): Promise<VolumeLock> {
  const { heartbeatMs = 2_000, holderTimeoutMs = 10_000 } = options;
  const holder = await describeThisProcess();
  // Before anybody can see the lock: whoever sees it in this process has to know that it lives.
  heldTokens.add(holder.token);
  try {
    await acquireLock(path, holder, { heartbeatMs, holderTimeoutMs });
  } catch (error) {
    heldTokens.delete(holder.token);
    throw error;
  }
  const stop = runPeriodically(heartbeatMs, () => heartbeat(path, holder, options.onLost), options.onError);
  return {
    release: async () => {
      await stop();
      if (heldTokens.delete(holder.token) && (await readHolder(path))?.token === holder.token)
        await rm(path, { force: true });
    },
  };
}

async function acquireLock(path: string, holder: Holder, timings: LockTimings): Promise<void> {
  const content = JSON.stringify(holder);
  if (await createFileExclusive(path, content)) return;
  await waitUntilFree(path, timings);
  // Of several that take it over the last one has it; the others see that by their heartbeats.
  await writeFile(`${path}-${holder.token}`, content, { mode: 0o640 });
  await rename(`${path}-${holder.token}`, path);
}

async function heartbeat(path: string, holder: Holder, onLost: () => void): Promise<void> {
  if (!heldTokens.has(holder.token)) return;
  const currentHolder = await readHolder(path);
  if (currentHolder !== null && currentHolder.token !== holder.token) {
    heldTokens.delete(holder.token);
    return onLost();
  }
  const now = new Date();
  if (currentHolder === null) await createFileExclusive(path, JSON.stringify(holder));
  else await utimes(path, now, now).catch(ignoreNotFound);
}

/** Resolves once the holder is seen to be gone; refuses as soon as it is seen to live. */
async function waitUntilFree(path: string, timings: LockTimings): Promise<void> {
  const initialHolder = await readHolder(path);
  if (initialHolder !== null && heldTokens.has(initialHolder.token)) throw createInUseError(path, initialHolder);
  if (initialHolder !== null && (await isKnownDead(initialHolder))) return;
  const initialMark = await readHolderMark(path);
  for (let waitedMs = 0; waitedMs < timings.holderTimeoutMs; waitedMs += timings.heartbeatMs / 2) {
    await delay(timings.heartbeatMs / 2);
    const currentMark = await readHolderMark(path);
    if (currentMark === null) return;
    if (currentMark !== initialMark) throw createInUseError(path, await readHolder(path));
  }
}

const createInUseError = (path: string, holder: Holder | null): ConfigError =>
  new ConfigError(
    `CLIPS_DIR is in use by another pod (host ${holder?.host ?? 'unknown'}, process ${holder?.processId ?? 'unknown'}; ${path}): each pod needs a directory of its own, or a POD_ID.`,
  );

async function isKnownDead({ processSpace, processId }: Holder): Promise<boolean> {
  if (processSpace === null || processSpace !== (await readProcessSpace())) return false;
  // An id is used again: whoever has it now is not the holder.
  if (processId === process.pid) return true;
  try {
    process.kill(processId, 0);
    return false;
  } catch (error) {
    return getErrorCode(error) === 'ESRCH';
  }
}

const describeThisProcess = async (): Promise<Holder> => ({
  token: randomBytes(12).toString('hex'),
  host: hostname(),
  processId: process.pid,
  processSpace: await readProcessSpace(),
});

/** Containers may share a host name, and each has a process 1: the kernel's own names tell them apart. */
async function readProcessSpace(): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()}/${await readlink('/proc/self/ns/pid')}`;
  } catch {
    // Not Linux: then the heartbeat alone tells.
    return null;
  }
}

/** Null when there is none, or when it says nothing that can be read. */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch (error) {
    if (isNotFoundError(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Another one whenever the holder has shown that it lives. */
async function readHolderMark(path: string): Promise<string | null> {
  try {
    const { mtimeNs, ino } = await stat(path, { bigint: true });
    return `${ino}/${mtimeNs}`;
  } catch (error) {
    if (isNotFoundError(error)) return null;
    throw error;
  }
}

/** Somebody has removed it just now: the next heartbeat makes it again. */
function ignoreNotFound(error: unknown): void {
  if (!isNotFoundError(error)) throw error;
}
