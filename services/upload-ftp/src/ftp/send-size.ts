import { FtpError, toFtpError } from './ftp-error.ts';
import type { Connection } from './ftp-srv-internals.ts';

interface FileEntry {
  readonly size: number;
  isDirectory(): boolean;
}

/** Replies to SIZE. Throws an FtpError if the path is not a file. */
export async function sendSize(connection: Connection, path: string): Promise<void> {
  const { fs } = connection as unknown as { fs: { get(path: string): Promise<FileEntry> } };
  const entry = await fs.get(path).catch((error: unknown) => {
    throw toFtpError(error);
  });
  if (entry.isDirectory()) throw new FtpError(550, 'Not a file');
  await connection.reply(213, String(entry.size));
}
