import { createHash } from 'node:crypto';
import type { Logger } from '@fleet/service-kit';
import { type Collection, type Database, indexNames, Lease } from '@fleet/storage';
import pLimit from 'p-limit';
import { type Index, indexes, indexName } from './indexes.ts';

/**
 * One change of the stored data. It may run twice, and while the previous release is still running, so it adds data and
 * removes none.
 */
export interface Migration {
  /** Ascending number, never reused. */
  readonly id: number;
  readonly name: string;
  readonly up: (database: Database) => Promise<unknown>;
}

interface AppliedMigration {
  readonly _id: number;
  readonly name: string;
  readonly appliedAt: Date;
}

/** State of the created indexes; the fingerprint is that of their list. */
interface CreatedIndexes {
  readonly _id: 'indexes';
  readonly fingerprint: string;
  readonly appliedAt: Date;
}

/** Number of collections whose indexes are created concurrently. */
const indexConcurrency = 4;

/** Numbers of the newest migrations. A later release may have applied more than this one requires. */
export interface SchemaVersion {
  readonly applied: number;
  readonly required: number;
}

/**
 * Brings the database to the state that this release needs, and returns its version: runs the missing migrations in the order of their ids, then
 * creates the indexes. Reads one collection and returns if nothing is missing. Otherwise one replica does the work and
 * the others wait for it. A migration must be idempotent, because it may run again after a crash.
 */
export async function migrate(
  database: Database,
  log: Logger,
  list: readonly Migration[],
  options: {
    readonly indexes?: readonly Index[];
    readonly signal?: AbortSignal;
  } = {},
): Promise<SchemaVersion> {
  const required = Math.max(0, ...list.map(({ id }) => id));
  const requiredIndexes = options.indexes ?? indexes;
  const fingerprint = createHash('sha256').update(JSON.stringify(requiredIndexes)).digest('hex');
  const applied = database.collection<AppliedMigration | CreatedIndexes>('migrations');
  const isCurrent = ({ ids, created }: MigrationState): boolean =>
    list.every(({ id }) => ids.has(id)) && created === fingerprint;
  // Without this check, the lease of a replica that was killed would delay the next start until it expires.
  const before = await readState(applied);
  const version = { required, applied: Math.max(required, ...before.ids) };
  if (isCurrent(before)) return version;
  const lease = await Lease.acquire(database, 'migrations', options);
  try {
    const { ids, created } = await readState(applied);
    for (const { id, name, up } of list.toSorted((a, b) => a.id - b.id)) {
      if (ids.has(id)) continue;
      log.info({ id, name }, 'migrating');
      await up(database);
      lease.assertHeld();
      await applied.insertOne({ _id: id, name, appliedAt: new Date() });
    }
    if (created === fingerprint || !(await createIndexes(database, requiredIndexes, log))) return version;
    lease.assertHeld();
    await applied.updateOne({ _id: 'indexes' }, { $set: { fingerprint, appliedAt: new Date() } }, { upsert: true });
    return version;
  } finally {
    await lease.release();
  }
}

interface MigrationState {
  readonly ids: ReadonlySet<number>;
  /** Fingerprint of the created indexes. */
  readonly created: string | undefined;
}

async function readState(applied: Collection<AppliedMigration | CreatedIndexes>): Promise<MigrationState> {
  const ids = new Set<number>();
  let created: string | undefined;
  for (const entry of await applied.find().toArray()) {
    if (entry._id === 'indexes') created = (entry as CreatedIndexes).fingerprint;
    else ids.add(entry._id);
  }
  return { ids, created };
}

/** Creates the indexes with one command per collection. Returns false if the server has refused one. */
async function createIndexes(database: Database, requiredIndexes: readonly Index[], log: Logger): Promise<boolean> {
  const byCollection = new Map<string, Index[]>();
  for (const index of requiredIndexes)
    byCollection.set(index.collection, [...(byCollection.get(index.collection) ?? []), index]);
  const limit = pLimit(indexConcurrency);
  const results = await Promise.all(
    [...byCollection].map(([collection, group]) =>
      limit(() => createCollectionIndexes(database, collection, group, log)),
    ),
  );
  return results.every(Boolean);
}

async function createCollectionIndexes(
  database: Database,
  collection: string,
  group: readonly Index[],
  log: Logger,
): Promise<boolean> {
  // FerretDB 1.24 aborts a command with several indexes if some exist.
  const existing = new Set(await indexNames(database.collection(collection)));
  const missing = group.filter(({ keys }) => !existing.has(indexName(keys)));
  if (missing.length === 0) return true;
  const create = (batch: readonly Index[]): Promise<unknown> =>
    database.collection(collection).createIndexes(batch.map(({ keys }) => ({ key: { ...keys } })));
  try {
    await create(missing);
    return true;
  } catch {
    // One unsupported index must not prevent the others: the embedded server has no geographic ones.
    const results = await Promise.all(missing.map((index) => createIndex(index, () => create([index]), log)));
    return results.every(Boolean);
  }
}

/** Creates one index. Without it queries are only slower. */
async function createIndex({ collection, keys }: Index, create: () => Promise<unknown>, log: Logger): Promise<boolean> {
  try {
    await create();
    return true;
  } catch (error) {
    log.warn({ err: error, collection, keys }, 'could not create an index');
    return false;
  }
}
