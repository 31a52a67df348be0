import type { Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { indexes } from './indexes.ts';
import { Lease } from './lease.ts';
import { type Migration, migrations } from './migration-list.ts';

interface Applied {
  readonly _id: number;
  readonly name: string;
  readonly appliedAt: Date;
}

/**
 * Brings the database to where this release needs it: the numbered migrations that it has not seen, in their order, then the indexes. One replica does it, the
 * others wait for it; a replica that dies at it is followed by another, so a migration may run again and has to bear that.
 */
export async function migrate(
  database: Database,
  log: Logger,
  options: { readonly list?: readonly Migration[]; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const list = options.list ?? migrations;
  const lease = await Lease.take(database, 'migrations', options);
  try {
    const applied = database.collection<Applied>('migrations');
    const known = new Set((await applied.find().toArray()).map(({ _id }) => _id));
    for (const { id, name, up } of list.toSorted((a, b) => a.id - b.id)) {
      if (known.has(id)) continue;
      log.info({ id, name }, 'migrating');
      await up(database);
      lease.check();
      await applied.insertOne({ _id: id, name, appliedAt: new Date() });
    }
    for (const { collection, keys } of indexes) await makeIndex(database, collection, keys, log);
  } finally {
    await lease.giveBack();
  }
}

/** An index that the server does not know (the embedded one has no geographic ones) costs speed, nothing else. */
async function makeIndex(
  database: Database,
  collection: string,
  keys: Readonly<Record<string, 1 | -1 | '2dsphere'>>,
  log: Logger,
): Promise<void> {
  try {
    await database.collection(collection).createIndex({ ...keys });
  } catch (error) {
    log.warn({ err: error, collection, keys }, 'an index could not be made');
  }
}
