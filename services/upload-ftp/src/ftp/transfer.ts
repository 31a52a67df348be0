import type { Socket } from 'node:net';
import type { FileWriter } from '../receiving/file-writer.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection, Connector } from './internals.ts';

const pollMs = 20;

/** Waits for the camera's data connection; ftp-srv's own wait polls on for ever when it does not come. */
export async function dataConnection(connection: Connection, limitMs: number): Promise<Connector> {
  const { connector } = connection;
  if (connector.type === false) throw new FtpError(425, 'Say PASV, EPSV, PORT or EPRT first');
  const untilMs = performance.now() + limitMs;
  while (performance.now() < untilMs && connection.connector === connector && !connection.commandSocket.destroyed) {
    const socket = connector.dataSocket;
    if (socket?.destroyed === true || (socket === null && connector.dataServer === null)) break;
    if (socket?.connected === true) return connector;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  connector.end();
  throw new FtpError(425, 'No data connection');
}

/** One transfer as its control connection sees it: watches what ftp-srv does not. */
export class Transfer {
  readonly writer: FileWriter;
  readonly #socket: Socket;
  readonly #connector: Connector;
  #grace: NodeJS.Timeout | undefined;

  /** Throws when the data connection is gone: ftp-srv would leave the file open for ever. */
  constructor(connection: Connection, writer: FileWriter, idleLimitMs: number) {
    const socket = connection.connector.dataSocket;
    if (socket === null || socket.destroyed) throw new FtpError(426, 'The data connection was lost');
    this.writer = writer;
    this.#socket = socket;
    this.#connector = connection.connector;
    socket.setTimeout(idleLimitMs, () => this.fail(new FtpError(426, 'No data for too long')));
    // Before ftp-srv hears of it, which would end the file first.
    socket.once('error', (cause) => this.fail(new FtpError(426, 'The data connection was lost', { cause })));
    socket.once('close', () => {
      if (!writer.writableEnded) this.fail(new FtpError(426, 'The data connection was lost'));
    });
    void writer.whenClosed.then(() => {
      clearTimeout(this.#grace);
      // After its answer, which some clients await before they close their side.
      setTimeout(() => socket.destroy(), 1_000).unref();
    });
  }

  fail(error: FtpError): void {
    this.writer.fail(error);
    this.#socket.destroy();
  }

  /**
   * The control connection is gone. What the camera has sent before it closed may still be on its way: it counts if it comes within the grace, up to the end
   * of the data connection as ever. ftp-srv would cut the data connection off at once.
   */
  outlive(graceMs: number): void {
    this.#connector.closeSocket = () => undefined;
    this.#grace = setTimeout(() => this.fail(new FtpError(426, 'The control connection was lost')), graceMs);
  }
}
