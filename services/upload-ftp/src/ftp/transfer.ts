import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { FileWriter } from '../uploads/file-writer.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection, Connector } from './ftp-srv-internals.ts';

const pollMs = 20;

/**
 * Waits for the camera's data connection; ftp-srv's own wait polls on forever when it does not come. Inside TLS the handshake is the camera's to begin, before
 * or after the answer 150.
 */
export async function waitForDataConnection(
  connection: Connection,
  timeoutMs: number,
  secureContext: SecureContext | null,
): Promise<Connector> {
  const { connector } = connection;
  if (connector.type === false) throw new FtpError(425, 'Say PASV, EPSV, PORT or EPRT first');
  const deadlineMs = performance.now() + timeoutMs;
  while (performance.now() < deadlineMs && connection.connector === connector && !connection.commandSocket.destroyed) {
    const socket = connector.dataSocket;
    if (socket?.destroyed === true || (socket === null && connector.dataServer === null)) break;
    if (socket !== null && (connector.type === 'passive' || socket.connected === true)) {
      if (connection.secure && secureContext !== null && !(socket instanceof TLSSocket))
        connector.dataSocket = wrapWithTls(socket, secureContext);
      if (connector.dataSocket !== null) connector.dataSocket.connected = true;
      return connector;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
  connector.end();
  throw new FtpError(425, 'No data connection');
}

/** Ends of the handshakes of data connections. */
const handshakes = new WeakMap<Socket, Promise<unknown>>();

function wrapWithTls(socket: Socket, secureContext: SecureContext): TLSSocket {
  const tlsSocket = new TLSSocket(socket, { isServer: true, secureContext });
  const handshake = once(tlsSocket, 'secure');
  // Its failure ends the transfer, which has a listener of its own.
  handshake.catch(() => undefined);
  tlsSocket.on('error', () => undefined);
  handshakes.set(tlsSocket, handshake);
  return tlsSocket;
}

/** Ends a data connection without a byte, once the camera can see that. */
export async function endWithoutData(socket: Socket, timeoutMs: number): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    await Promise.race([handshakes.get(socket), once(socket, 'close', { signal: timeout })]);
    const closed = socket.closed ? undefined : once(socket, 'close', { signal: timeout });
    socket.resume().end();
    await closed;
  } catch {
    // Whether a camera takes the end of an empty list is its own affair.
    socket.destroy();
  }
}

/** One transfer as its control connection sees it: watches what ftp-srv does not. */
export class Transfer {
  readonly writer: FileWriter;
  /** Why it was cut off. */
  failure: FtpError | null = null;
  readonly #socket: Socket;
  readonly #connector: Connector;
  #grace: NodeJS.Timeout | undefined;

  /** Throws when the data connection is gone: ftp-srv would leave the file open forever. */
  constructor(connection: Connection, writer: FileWriter, idleTimeoutMs: number) {
    const socket = connection.connector.dataSocket;
    if (socket === null || socket.destroyed) throw new FtpError(426, 'The data connection was lost');
    this.writer = writer;
    this.#socket = socket;
    this.#connector = connection.connector;
    socket.setTimeout(idleTimeoutMs, () => this.fail(new FtpError(426, 'No data for too long')));
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
    // Once the file could not be written, the loss of the data connection only follows from that: it is not the reason to tell.
    if (this.writer.errored === null) {
      this.failure ??= error;
      this.writer.fail(error);
    }
    this.#socket.destroy();
  }

  /**
   * The control connection is gone. What the camera has sent before it closed may still be on its way: it counts as long as it comes without a gap longer than the
   * grace, up to the end of the data connection as ever. ftp-srv would cut the data connection off at once.
   */
  continueAfterControlLoss(graceMs: number): void {
    this.#connector.closeSocket = () => undefined;
    this.#waitForMoreData(graceMs);
  }

  #waitForMoreData(graceMs: number): void {
    const { bytesRead: bytesReadBefore } = this.#socket;
    this.#grace = setTimeout(() => {
      // Behind what has come while this process paused for longer than the grace: timers run before sockets are read.
      setImmediate(() => {
        const { bytesRead, readableLength, readableEnded } = this.#socket;
        if (readableEnded || this.writer.closed) return;
        if (bytesRead > bytesReadBefore || readableLength > 0) this.#waitForMoreData(graceMs);
        else this.fail(new FtpError(426, 'The control connection was lost'));
      });
    }, graceMs);
  }
}
