import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Whose files are meant; both come from the upload's record. */
export interface UploadRef {
  /** Canonical terminal number. */
  readonly imei: string;
  /** The upload's `_id`. */
  readonly id: string;
}

const imeiPattern = /^[1-9][0-9A-F]{0,19}$/;
const idPattern = /^[0-9a-f]{24}$/;
/** Where directories go to be deleted; no terminal number begins with a dot. */
const trashName = '.removed';

/**
 * Where the files of uploads lie: `<root>/<imei>/<id>/files/<path as the camera named it>`. What is made of them (an MP4) lies beside `files`, so that
 * removing the upload's directory removes everything.
 */
export class ClipDirectory {
  readonly root: string;

  constructor(root: string) {
    this.root = resolve(root);
  }

  /** The upload's own directory: `files` and whatever is made of them. */
  uploadDir({ imei, id }: UploadRef): string {
    if (!imeiPattern.test(imei) || !idPattern.test(id)) throw new RangeError('no place of an upload');
    return join(this.root, imei, id);
  }

  /** The camera's root directory. */
  filesDir(ref: UploadRef): string {
    return join(this.uploadDir(ref), 'files');
  }

  /** One file of an upload, by the path in its record; refuses what would lie outside. */
  filePath(ref: UploadRef, path: string): string {
    const segments = path.split('/');
    if (path.includes('\0') || segments.some((segment) => segment === '' || segment === '.' || segment === '..'))
      throw new RangeError('no path of an uploaded file');
    return join(this.filesDir(ref), ...segments);
  }

  /** Makes the root, so that a place that cannot be written shows at the start. */
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

  /** Bytes on disk of one file; null when it is not there. */
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
   * Removes an upload's directory, all or nothing: it is renamed away first, and from then on does not exist. What cannot be deleted behind that is left to
   * `emptyRemoved`. Removing what is not there succeeds.
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

  /** Deletes what an interrupted removal has left; false where the time was over before that. Of what cannot be deleted the first fault is told. */
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

  /** Every upload that has a directory here, or every one behind another, terminal by terminal: in an order that stays. */
  async *listUploads(after: UploadRef | null): AsyncGenerator<UploadRef> {
    for (const imei of (await listNames(this.root)).toSorted()) {
      if (!imeiPattern.test(imei) || (after !== null && imei < after.imei)) continue;
      for (const id of (await listNames(join(this.root, imei))).toSorted())
        if (idPattern.test(id) && (after === null || imei !== after.imei || id > after.id)) yield { imei, id };
    }
  }
}

/** The code of a failed system call, such as ENOSPC; undefined for what is none. */
export const getErrorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;

/** True for the error of a file or directory that does not exist. */
export const isNotFoundError = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(String(getErrorCode(error)));

async function listNames(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (error) {
    if (isNotFoundError(error)) return [];
    throw error;
  }
}
