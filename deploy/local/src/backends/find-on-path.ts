import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { errorCode } from '../start-error.ts';

/** Folders of servers that are often missing from an ordinary user's PATH. */
const defaultFolders = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin', '/opt/homebrew/bin'];

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return false;
  }
}

/** Returns the full path of the first program of that name on the PATH. */
export function findOnPath(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  const folders = [...path.split(delimiter).filter((folder) => folder !== ''), ...defaultFolders];
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}
