import { randomBytes } from 'node:crypto';
import { readFile, readlink, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError, runPeriodically } from '@fleet/service-kit';
import { getErrorCode, isNotFoundError } from './clip-directory.ts';
import { createFileExclusive } from './create-exclusive.ts';

interface Holder {
  readonly token: string;
  /** Host name for the error message of a refused process. */
  readonly host: string;
  readonly processId: number;
  /** The PID namespace in which the process id is valid; null if unknown. */
  readonly processSpace: string | null;
}

export interface VolumeLockOptions {
  /** Called when another process has taken over the lock, because the heartbeat of this process was too old. */
  readonly onLost: () => void;
  readonly onError: (error: unknown) => void;
  readonly heartbeatMs?: number;
  /** A holder without a heartbeat for this time counts as dead. */
  readonly holderTimeoutMs?: number;
}

interface LockTimings {
  readonly heartbeatMs: number;
  readonly holderTimeoutMs: number;
}

/** A lock on a volume that one process may use at a time. */
export interface VolumeLock {
  release(): Promise<void>;
}

/**
 * Tokens of locks held by this process. Another process would have to prove by its heartbeat that it is alive; for
 * these it is known.
 */
const heldTokens = new Set<string>();

/**
 * Acquires the lock at `path`. Throws a ConfigError if a live process holds it, even on another machine. Compares only
 * timestamps of the file system with each other.
 */
export async function lockVolume(path: string, options: VolumeLockOptions): Promise<VolumeLock> {
  const { heartbeatMs = 2_000, holderTimeoutMs = 10_000 } = options;
  const holder = await describeThisProcess();
  // Added before the lock file exists: any reader in this process must know that the holder is alive.
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
  // If several processes take over, the last one holds the lock. The others detect that by their heartbeats.
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

/** Resolves once the holder is known to be dead. Throws as soon as the holder proves to be alive. */
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
    `CLIPS_DIR is in use by another process (host ${holder?.host ?? 'unknown'}, process ${holder?.processId ?? 'unknown'}; ${path}). Stop that process, or give each pod its own directory and POD_ID.`,
  );

async function isKnownDead({ processSpace, processId }: Holder): Promise<boolean> {
  if (processSpace === null || processSpace !== (await readProcessSpace())) return false;
  // Process ids are reused: the process that has it now is not the holder.
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

/**
 * Returns an id of the boot and the PID namespace. Containers may share a host name, and each has a process 1; the
 * kernel's ids distinguish them.
 */
async function readProcessSpace(): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8');
    return `${boot.trim()}/${await readlink('/proc/self/ns/pid')}`;
  } catch {
    // Not Linux: only the heartbeat counts.
    return null;
  }
}

/** Returns null if there is no lock file or it is unreadable. */
async function readHolder(path: string): Promise<Holder | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Holder;
  } catch (error) {
    if (isNotFoundError(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

/** Returns a value that changes with every heartbeat of the holder. */
async function readHolderMark(path: string): Promise<string | null> {
  try {
    const { mtimeNs, ino } = await stat(path, { bigint: true });
    return `${ino}/${mtimeNs}`;
  } catch (error) {
    if (isNotFoundError(error)) return null;
    throw error;
  }
}

/** Ignores that the lock file was just deleted. The next heartbeat creates it again. */
function ignoreNotFound(error: unknown): void {
  if (!isNotFoundError(error)) throw error;
}
