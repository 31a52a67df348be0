import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '@fleet/service-kit';
import { type Database, Lease } from '@fleet/storage';
import type { RecordStore } from '../../store/record-store.ts';
import { readTollGates } from './rules.ts';
import { replaceGates } from './store.ts';

interface LoadedFile {
  readonly _id: string;
  readonly sha256: string;
}

interface Parts {
  readonly database: Database;
  readonly records: RecordStore;
  readonly log: Logger;
}

/**
 * Replaces the toll gates by those of a file if it has changed since the last time. One replica does it. A file that
 * cannot be read changes nothing and does not prevent the start.
 */
export async function loadTollGates(
  { database, records, log }: Parts,
  file: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (file === undefined) return;
  const text = await readText(file, log);
  if (text === null) return;
  const sha256 = createHash('sha256').update(text).digest('hex');
  const files = database.collection<LoadedFile>('loaded_files');
  const isLoaded = async (): Promise<boolean> => (await files.findOne({ _id: 'toll_gates' }))?.sha256 === sha256;
  // Checked without the lease. A replica that was killed with the lease would otherwise delay the next start until the
  // lease expires.
  if (await isLoaded()) return;
  const read = readGates(text, file, log);
  if (read === null) return;
  const lease = await Lease.acquire(database, 'toll gates', { signal });
  try {
    if (await isLoaded()) return;
    const result = await replaceGates(records, read, () => lease.assertHeld());
    await files.updateOne({ _id: 'toll_gates' }, { $set: { sha256 } }, { upsert: true });
    log.info({ file, ...result }, 'loaded the toll gates');
  } finally {
    await lease.release();
  }
}

async function readText(file: string, log: Logger): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    return unreadable(error, file, log);
  }
}

function readGates(text: string, file: string, log: Logger): ReturnType<typeof readTollGates>['gates'] | null {
  try {
    const { gates, invalidRows } = readTollGates(text);
    if (invalidRows.length > 0)
      log.warn(
        { file, count: invalidRows.length, rows: invalidRows.slice(0, 20) },
        'skipped invalid rows of toll gates',
      );
    return gates;
  } catch (error) {
    return unreadable(error, file, log);
  }
}

function unreadable(error: unknown, file: string, log: Logger): null {
  log.error({ err: error, file }, 'could not read the file of toll gates');
  return null;
}
