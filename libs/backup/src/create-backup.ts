import { mkdir, readdir } from 'node:fs/promises';
import { BackupError } from './backup-error.ts';
import { backUpFiles } from './files.ts';
import type { Installation, Report } from './installation.ts';
import { backUpLogs, backUpWorkQueues } from './jetstream.ts';
import { type CollectionEntry, type FilesEntry, type Manifest, type StreamEntry, writeManifest } from './manifest.ts';
import { backUpCollections } from './mongodb.ts';

/**
 * Backs up a running installation into a new folder. The order makes the parts consistent: offsets and work queues,
 * the database, the other streams, files. What happens between the steps is processed again after a restore.
 */
export async function createBackup(installation: Installation, folder: string, report: Report): Promise<Manifest> {
  const { bus, database, clipsDir } = installation;
  const createdAt = new Date();
  await createFolder(folder);
  const offsets = await backUpCollections(database, folder, 'offsets');
  const { entries: workQueues, logs } = await backUpWorkQueues(bus, folder);
  const collections = [...offsets, ...(await backUpCollections(database, folder, 'others'))];
  report(describeCollections(collections));
  const streams = [...workQueues, ...(await backUpLogs(bus, folder, logs))];
  report(describeStreams(streams));
  const files = clipsDir === undefined ? null : await backUpFiles(clipsDir, folder);
  report(describeFiles(files));
  const manifest: Manifest = {
    format: 1,
    created_at: createdAt.toISOString(),
    finished_at: new Date().toISOString(),
    mongodb: collections,
    jetstream: streams,
    files,
  };
  await writeManifest(folder, manifest);
  return manifest;
}

async function createFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if ((await readdir(folder)).length > 0) throw new BackupError(`${folder} is not empty: name a new folder with --to.`);
}

const total = <Entry>(entries: readonly Entry[], read: (entry: Entry) => number): number =>
  entries.reduce((sum, entry) => sum + read(entry), 0);

const formatMegabytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MB`;

export const describeCollections = (entries: readonly CollectionEntry[]): string =>
  `MongoDB: ${total(entries, (each) => each.documents)} documents of ${entries.length} collections, ${formatMegabytes(total(entries, (each) => each.bytes))}`;

export const describeStreams = (entries: readonly StreamEntry[]): string =>
  `JetStream: ${total(entries, (each) => each.messages)} messages of ${entries.length} streams, ${formatMegabytes(total(entries, (each) => each.bytes))}`;

export const describeFiles = (files: FilesEntry | null): string =>
  files === null ? 'Files: not included' : `Files: ${files.count}, ${formatMegabytes(files.total_bytes)}`;
