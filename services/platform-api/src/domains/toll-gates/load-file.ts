import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { Lease } from '../../store/lease.ts';
import type { Records } from '../../store/records.ts';
import { readTollGates } from './rules.ts';
import { replaceGates } from './store.ts';

interface LoadedFile {
  readonly _id: string;
  readonly sha256: string;
}

interface Parts {
  readonly database: Database;
  readonly records: Records;
  readonly log: Logger;
}

/**
 * Makes the toll gates those of a file, when it is another one than the last time; one replica does it. A file that can not be read changes nothing and is
 * no reason not to start.
 */
export async function loadTollGates(
  { database, records, log }: Parts,
  file: string | undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (file === undefined) return;
  const read = await readGates(file, log);
  if (read === null) return;
  const lease = await Lease.take(database, 'toll gates', { signal });
  try {
    const files = database.collection<LoadedFile>('loaded_files');
    const loaded = await files.findOne({ _id: 'toll_gates' });
    if (loaded?.sha256 === read.sha256) return;
    const result = await replaceGates(records, read.gates, () => lease.check());
    await files.updateOne({ _id: 'toll_gates' }, { $set: { sha256: read.sha256 } }, { upsert: true });
    log.info({ file, ...result }, 'toll gates are loaded');
  } finally {
    await lease.giveBack();
  }
}

async function readGates(file: string, log: Logger) {
  try {
    const text = await readFile(file, 'utf8');
    const { gates, badRows } = readTollGates(text);
    if (badRows.length > 0)
      log.warn({ file, count: badRows.length, rows: badRows.slice(0, 20) }, 'rows that are no toll gates are left out');
    return { gates, sha256: createHash('sha256').update(text).digest('hex') };
  } catch (error) {
    log.error({ err: error, file }, 'the file of toll gates could not be read');
    return null;
  }
}
