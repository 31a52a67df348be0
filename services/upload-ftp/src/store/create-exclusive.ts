import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { getErrorCode } from './clip-directory.ts';

/** Creates a file with its content in one step. Returns false if it exists. */
export async function createFileExclusive(path: string, content: string): Promise<boolean> {
  const temporaryPath = `${path}-${randomBytes(6).toString('hex')}`;
  const file = await open(temporaryPath, 'wx', 0o640);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(temporaryPath, path);
    return true;
  } catch (error) {
    if (getErrorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(temporaryPath, { force: true });
  }
}
