import { createReadStream, type Dirent } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { computeChecksum, readArchive, type StoredFile, writeArchive } from './archive.ts';
import { BackupError } from './backup-error.ts';
import type { FilesEntry } from './manifest.ts';

const folderName = 'files';
const listName = 'files.jsonl.gz';
/** The lock of the process that uses the folder. */
const isLock = (path: string): boolean => path.startsWith('.pod-lock');

/** One file of the list. */
interface ListedFile extends StoredFile {
  readonly path: string;
  readonly modifiedMs: number;
}

const isMissing = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'ENOENT';

/** Returns the paths of all regular files below a folder; none for a missing folder. */
async function* walk(root: string, folder = root): AsyncGenerator<string> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return;
    throw error;
  }
  for (const entry of entries) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(root, path);
    else if (entry.isFile() && !isLock(relative(root, path))) yield relative(root, path);
  }
}

/** Returns true if a folder has no file apart from the name of its pod. */
export async function hasNoFiles(clipsDir: string): Promise<boolean> {
  for await (const path of walk(clipsDir)) if (path !== '.pod-id') return false;
  return true;
}

export async function removeFiles(clipsDir: string): Promise<void> {
  for (const name of await readdir(clipsDir).catch(() => []))
    await rm(join(clipsDir, name), { recursive: true, force: true });
}

/** Copies all files into the backup, with a list of their checksums. Files that disappear are omitted. */
export async function backUpFiles(clipsDir: string, folder: string): Promise<FilesEntry> {
  let count = 0;
  let totalBytes = 0;
  async function* list(): AsyncGenerator<Buffer> {
    for await (const path of walk(clipsDir)) {
      const listed = await copyListed(clipsDir, folder, path);
      if (listed === undefined) continue;
      count += 1;
      totalBytes += listed.bytes;
      yield Buffer.from(`${JSON.stringify(listed)}\n`);
    }
  }
  await mkdir(join(folder, folderName), { mode: 0o700 });
  const stored = await writeArchive(join(folder, listName), list());
  return { count, total_bytes: totalBytes, file: listName, ...stored };
}

async function copyListed(clipsDir: string, folder: string, path: string): Promise<ListedFile | undefined> {
  const target = join(folder, folderName, path);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  try {
    const { mtimeMs } = await stat(join(clipsDir, path));
    const stored = await copyFile(join(clipsDir, path), target);
    return { path, modifiedMs: mtimeMs, ...stored };
  } catch (error) {
    if (!isMissing(error)) throw error;
    await rm(target, { force: true });
    return undefined;
  }
}

/** Copies bytes as they are; `.gz` in a name of a terminal means nothing here. */
async function copyFile(source: string, target: string): Promise<StoredFile> {
  const part = `${target}.part`;
  const stored = await writeArchive(part, createReadStream(source));
  await rename(part, target);
  return stored;
}

async function* readList(folder: string): AsyncGenerator<ListedFile> {
  const lines = createInterface({ input: Readable.from(readArchive(join(folder, listName))) });
  for await (const line of lines) yield JSON.parse(line) as ListedFile;
}

/** Returns the first file of the backup that differs from the list; undefined if there is none. */
export async function findDamagedFile(folder: string): Promise<string | undefined> {
  for await (const { path, bytes, sha256 } of readList(folder)) {
    const found = await computeChecksum(join(folder, folderName, path)).catch(() => undefined);
    if (found?.sha256 !== sha256 || found.bytes !== bytes) return join(folderName, path);
  }
  return undefined;
}

/** Restores all files with their times. Throws if one differs. */
export async function restoreFiles(clipsDir: string, folder: string): Promise<void> {
  for await (const { path, sha256, modifiedMs } of readList(folder)) {
    const target = join(clipsDir, path);
    await mkdir(dirname(target), { recursive: true });
    await rm(target, { force: true });
    const restored = await copyFile(join(folder, folderName, path), target);
    if (restored.sha256 !== sha256)
      throw new BackupError(`${target} differs from the backup: check the disk, then restore again with --replace.`);
    await utimes(target, modifiedMs / 1000, modifiedMs / 1000);
  }
}
