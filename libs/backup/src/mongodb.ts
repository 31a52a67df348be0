import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Database, dumpDocuments, dumpMetadata, listCollections, restoreCollection } from '@fleet/storage';
import { readArchive, writeArchive } from './archive.ts';
import { BackupError } from './backup-error.ts';
import type { CollectionEntry } from './manifest.ts';

const folderName = 'mongodb';

/**
 * Offsets of logs. They are backed up first: what is processed later is processed again after a restore, while an
 * offset that is newer than the other collections would skip reports.
 */
const offsetCollections: ReadonlySet<string> = new Set(['telemetry_places']);

/** Backs up the collections that contain offsets, or all others. */
export async function backUpCollections(
  database: Database,
  folder: string,
  which: 'offsets' | 'others',
): Promise<CollectionEntry[]> {
  await mkdir(join(folder, folderName), { recursive: true, mode: 0o700 });
  const entries: CollectionEntry[] = [];
  for (const name of await listCollections(database))
    if (offsetCollections.has(name) === (which === 'offsets'))
      entries.push(await backUpCollection(database, folder, name));
  return entries;
}

/** The files have the names and the format of `mongodump --gzip`, so that mongorestore reads them. */
async function backUpCollection(database: Database, folder: string, name: string): Promise<CollectionEntry> {
  const file = join(folderName, `${encodeURIComponent(name)}.bson.gz`);
  const metadata = await dumpMetadata(database, name);
  await writeArchive(join(folder, folderName, `${encodeURIComponent(name)}.metadata.json.gz`), toBytes(metadata));
  let documents = 0;
  async function* count(): AsyncGenerator<Buffer> {
    for await (const document of dumpDocuments(database, name)) {
      documents += 1;
      yield document;
    }
  }
  const stored = await writeArchive(join(folder, file), count());
  return { name, documents, metadata, file, ...stored };
}

async function* toBytes(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

/** Restores the collections of a backup into an empty database. Throws if documents are missing. */
export async function restoreCollections(
  database: Database,
  folder: string,
  entries: readonly CollectionEntry[],
): Promise<void> {
  for (const { name, documents, metadata, file } of entries) {
    const restored = await restoreCollection(database, metadata, readArchive(join(folder, file)));
    const stored = await database.collection(name).countDocuments();
    if (restored !== documents || stored !== documents)
      throw new BackupError(
        `The collection ${name} has ${stored} documents after the restore instead of ${documents}: stop all services, then restore again with --replace.`,
      );
  }
}
