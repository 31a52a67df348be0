import { randomBytes } from 'node:crypto';
import { link, open, rm } from 'node:fs/promises';
import { errorCode } from './clip-directory.ts';

/** Makes a file with its content in one step; false where it is there already. */
export async function makeOnce(path: string, content: string): Promise<boolean> {
  const made = `${path}-${randomBytes(6).toString('hex')}`;
  const file = await open(made, 'wx', 0o640);
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
  try {
    await link(made, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(made, { force: true });
  }
}
