import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Identifies the files of an upload. Both values come from the upload's record. */
export interface UploadRef {
  /** Canonical terminal number. */
  readonly imei: string;
  /** The upload's `_id`. */
  readonly id: string;
}

const imeiPattern = /^[1-9][0-9A-F]{0,19}$/;
const idPattern = /^[0-9a-f]{24}$/;
/** Directory of removed uploads awaiting deletion. No terminal number begins with a dot. */
const trashName = '.removed';

/**
 * Manages the directory of uploaded files: `<root>/<imei>/<id>/files/<path as the camera named it>`. Derived files (an
 * MP4) are stored beside `files`, so that removing the upload's directory removes everything.
 */
export class ClipDirectory {
  readonly root: string;

  constructor(root: string) {
    this.root = resolve(root);
  }

  /** Returns the upload's own directory: `files` and the derived files. */
  uploadDir({ imei, id }: UploadRef): string {
    if (!imeiPattern.test(imei) || !idPattern.test(id)) throw new RangeError('invalid reference of an upload');
    return join(this.root, imei, id);
  }

  /** Returns the camera's root directory. */
  filesDir(ref: UploadRef): string {
    return join(this.uploadDir(ref), 'files');
  }

  /** Returns the path of an uploaded file by the path in its record. Throws for a path that would lie outside. */
  filePath(ref: UploadRef, path: string): string {
    const segments = path.split('/');
    if (path.includes('\0') || segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
      throw new RangeError('invalid path of an uploaded file');
    return join(this.filesDir(ref), ...segments);
  }

  /** Creates the root directory, so that an unwritable path is detected at the start. */
  async prepare(): Promise<void> {
    await mkdir(join(this.root, trashName), { recursive: true, mode: 0o750 });
  }

  async createFilesDir(ref: UploadRef): Promise<string> {
    const dir = this.filesDir(ref);
    await mkdir(dir, { recursive: true, mode: 0o750 });
    return dir;
  }

  async removeFile(ref: UploadRef, path: string): Promise<void> {
    await rm(this.filePath(ref, path), { force: true });
  }

  /** Returns the size of a file on disk; null if it does not exist. */
  async sizeOf(ref: UploadRef, path: string): Promise<number | null> {
    try {
      const found = await stat(this.filePath(ref, path));
      return found.isFile() ? found.size : null;
    } catch (error) {
      if (isNotFoundError(error)) return null;
      throw error;
    }
  }

  /**
   * Removes an upload's directory, all or nothing: it is renamed first and from then on no longer exists. Remains that
   * cannot be deleted afterwards are left to `emptyTrash`. Succeeds if the directory does not exist.
   */
  async remove(ref: UploadRef): Promise<void> {
    await this.prepare();
    const trashPath = join(this.root, trashName, `${ref.id}-${randomBytes(6).toString('hex')}`);
    try {
      await rename(this.uploadDir(ref), trashPath);
    } catch (error) {
      if (isNotFoundError(error)) return;
      throw error;
    }
    await rm(trashPath, { recursive: true, force: true }).catch(() => undefined);
  }

  /**
   * Deletes the remains of interrupted removals. Returns false if the slice ended first. Reports only the first
   * deletion error.
   */
  async emptyTrash(isOver: () => boolean, onError: (error: unknown) => void): Promise<boolean> {
    const dir = join(this.root, trashName);
    let isReported = false;
    for (const name of await listNames(dir)) {
      await rm(join(dir, name), { recursive: true, force: true }).catch((error: unknown) => {
        if (!isReported) onError(error);
        isReported = true;
      });
      if (isOver()) return false;
    }
    return true;
  }

  /**
   * Lists every upload that has a directory here, optionally only those after a given one. The order is stable,
   * terminal by terminal.
   */
  async *listUploads(after: UploadRef | null): AsyncGenerator<UploadRef> {
    for (const imei of (await listNames(this.root)).toSorted()) {
      if (!imeiPattern.test(imei) || (after !== null && imei < after.imei)) continue;
      for (const id of (await listNames(join(this.root, imei))).toSorted())
        if (idPattern.test(id) && (after === null || imei !== after.imei || id > after.id)) yield { imei, id };
    }
  }
}

/** Returns the code of a failed system call, such as ENOSPC; undefined for other errors. */
export const getErrorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

/** Returns whether the error means that a file or directory does not exist. */
export const isNotFoundError = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(String(getErrorCode(error)));

async function listNames(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isNotFoundError(error)) return [];
    throw error;
  }
}
