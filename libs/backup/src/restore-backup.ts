import { join } from 'node:path';
import { deleteStream, listStreams } from '@fleet/bus';
import { dropCollections, emptyRedis, isDatabaseEmpty, isRedisEmpty } from '@fleet/storage';
import { computeChecksum } from './archive.ts';
import { BackupError } from './backup-error.ts';
import { describeCollections, describeFiles, describeStreams } from './create-backup.ts';
import { findDamagedFile, hasNoFiles, removeFiles, restoreFiles } from './files.ts';
import type { Installation, Report } from './installation.ts';
import { restoreStreams } from './jetstream.ts';
import { type Manifest, readManifest } from './manifest.ts';
import { restoreCollections } from './mongodb.ts';

interface RestoreOptions {
  /** Deletes the data of the installation first. */
  readonly isReplacing: boolean;
  /** Permits a restore without the files of the backup. */
  readonly isWithoutFiles: boolean;
}

/**
 * Restores a backup into an installation whose services do not run. Changes nothing if the backup is damaged, or if
 * the installation has data and `isReplacing` is false.
 */
export async function restoreBackup(
  installation: Installation,
  folder: string,
  { isReplacing, isWithoutFiles }: RestoreOptions,
  report: Report,
): Promise<Manifest> {
  const { bus, database, clipsDir, replicas } = installation;
  const manifest = await readManifest(folder);
  if (manifest.files !== null && clipsDir === undefined && !isWithoutFiles)
    throw new BackupError('The backup has files: set CLIPS_DIR to restore them, or add --without-files.');
  await verifyChecksums(folder, manifest);
  report('The checksums are correct.');
  const occupied = await findData(installation);
  if (occupied.length > 0 && !isReplacing)
    throw new BackupError(
      `The installation is not empty (${occupied.join(', ')}): restore into an empty one, or add --replace to delete its data.`,
    );
  await empty(installation);
  await restoreCollections(database, folder, manifest.mongodb);
  report(describeCollections(manifest.mongodb));
  await restoreStreams(bus, folder, manifest.jetstream, replicas);
  report(describeStreams(manifest.jetstream));
  const isRestoringFiles = manifest.files !== null && clipsDir !== undefined && !isWithoutFiles;
  if (isRestoringFiles) await restoreFiles(clipsDir, folder);
  report(describeFiles(isRestoringFiles ? manifest.files : null));
  return manifest;
}

/** Throws a BackupError that names the first damaged file. */
async function verifyChecksums(folder: string, { mongodb, jetstream, files }: Manifest): Promise<void> {
  const fail = (file: string): never => {
    throw new BackupError(`${join(folder, file)} is damaged or missing: restore another backup.`);
  };
  for (const { file, bytes, sha256 } of [...mongodb, ...jetstream, ...(files === null ? [] : [files])]) {
    const found = await computeChecksum(join(folder, file)).catch(() => undefined);
    if (found?.sha256 !== sha256 || found.bytes !== bytes) fail(file);
  }
  const damaged = files === null ? undefined : await findDamagedFile(folder);
  if (damaged !== undefined) fail(damaged);
}

/** Returns the stores of an installation that have data. */
async function findData({ bus, database, redis, clipsDir }: Installation): Promise<string[]> {
  const streams = (await listStreams(bus)).filter(({ lastSequence }) => lastSequence > 0);
  return [
    ...((await isDatabaseEmpty(database)) ? [] : ['MongoDB has documents']),
    ...(streams.length === 0 ? [] : [`JetStream has ${streams.map(({ name }) => name).join(', ')}`]),
    ...((await isRedisEmpty(redis)) ? [] : ['Redis has keys']),
    ...(clipsDir === undefined || (await hasNoFiles(clipsDir)) ? [] : [`${clipsDir} has files`]),
  ];
}

/** Deletes all data. Redis stays empty: the services restore its content from the other stores. */
async function empty({ bus, database, redis, clipsDir }: Installation): Promise<void> {
  await dropCollections(database);
  for (const { name } of await listStreams(bus)) await deleteStream(bus, name);
  await emptyRedis(redis);
  if (clipsDir !== undefined) await removeFiles(clipsDir);
}
