import type { Socket } from 'node:net';
import type { Logger } from '@fleet/service-kit';
import type { FtpConnection } from 'ftp-srv';
import { LineBuffer } from './line-buffer.ts';

/** What ftp-srv 4 has beside its published types. */
export type ControlConnection = Omit<FtpConnection, 'close'> & {
  close(code: number, message: string): Promise<unknown>;
  readonly commandSocket: Socket;
  readonly commands: { handle(line: string): Promise<unknown> };
  readonly authenticated?: boolean;
};

const maxLineBytes = 8 * 1024;
/** More commands than this before the first is done is no camera. */
const maxWaitingLines = 100;

/**
 * Takes the place of ftp-srv's own reader, which parses each TCP segment alone and answers 502 to a command that arrives in two. Commands run one after
 * another; only ABOR overtakes, as it is about the transfer that runs.
 */
export function readCommandLines(connection: ControlConnection, log: Logger): void {
  const socket = connection.commandSocket;
  const lines = new LineBuffer(maxLineBytes);
  let waiting = 0;
  let last: Promise<unknown> = Promise.resolve();
  const run = async (line: string): Promise<void> => {
    try {
      await connection.commands.handle(line);
    } catch (error) {
      log.warn({ err: error, ip: connection.ip }, 'an FTP command failed');
    } finally {
      waiting -= 1;
    }
  };
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => {
    const complete = lines.push(chunk);
    if (complete === null || waiting + complete.length > maxWaitingLines) {
      socket.removeAllListeners('data');
      void connection.close(421, 'Too much at once');
      return;
    }
    for (const line of complete) {
      waiting += 1;
      if (/^abor\b/i.test(line)) void run(line);
      else last = last.then(() => run(line));
    }
  });
}

/** Closes a connection that nobody logs into: without it, idle sockets would stay for ever. */
export function limitLoginTime(connection: ControlConnection, limitMs: number): void {
  const timer = setTimeout(() => {
    if (connection.authenticated !== true) void connection.close(421, 'No login in time');
  }, limitMs);
  connection.commandSocket.once('close', () => clearTimeout(timer));
}
