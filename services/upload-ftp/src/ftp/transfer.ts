import { once } from 'node:events';
import type { Socket } from 'node:net';
import { type SecureContext, TLSSocket } from 'node:tls';
import type { FileWriter } from '../uploads/file-writer.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection, Connector } from './ftp-srv-internals.ts';

const pollMs = 20;

/**
 * Waits for the camera's data connection. ftp-srv's own wait would poll forever if the camera does not connect. With
 * TLS, the camera starts the handshake, before or after the reply 150.
 */
export async function waitForDataConnection(
  connection: Connection,
  timeoutMs: number,
  secureContext: SecureContext | null,
): Promise<Connector> {
  const { connector } = connection;
  if (connector.type === false) throw new FtpError(425, 'Use PASV, EPSV, PORT or EPRT first');
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

/** Promises of the TLS handshakes of data connections. */
const handshakes = new WeakMap<Socket, Promise<unknown>>();

function wrapWithTls(socket: Socket, secureContext: SecureContext): TLSSocket {
  const tlsSocket = new TLSSocket(socket, { isServer: true, secureContext });
  const handshake = once(tlsSocket, 'secure');
  // A failed handshake ends the transfer, which has its own listener.
  handshake.catch(() => undefined);
  tlsSocket.on('error', () => undefined);
  handshakes.set(tlsSocket, handshake);
  return tlsSocket;
}

/** Ends a data connection without data, once the camera can detect the end. */
export async function endWithoutData(socket: Socket, timeoutMs: number): Promise<void> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    await Promise.race([handshakes.get(socket), once(socket, 'close', { signal: timeout })]);
    const closed = socket.closed ? undefined : once(socket, 'close', { signal: timeout });
    socket.resume().end();
    await closed;
  } catch {
    // It does not matter whether the camera received the end of an empty list.
    socket.destroy();
  }
}

/** Represents one transfer of a control connection. Detects the failures that ftp-srv does not. */
export class Transfer {
  readonly writer: FileWriter;
  /** Reason why the transfer was aborted. */
  failure: FtpError | null = null;
  readonly #socket: Socket;
  readonly #connector: Connector;
  #grace: NodeJS.Timeout | undefined;

  /** Throws if the data connection is closed, because ftp-srv would leave the file open forever. */
  constructor(connection: Connection, writer: FileWriter, idleTimeoutMs: number) {
    const socket = connection.connector.dataSocket;
    if (socket === null || socket.destroyed) throw new FtpError(426, 'The data connection was lost');
    this.writer = writer;
    this.#socket = socket;
    this.#connector = connection.connector;
    socket.setTimeout(idleTimeoutMs, () => this.fail(new FtpError(426, 'No data for too long')));
    // Registered before ftp-srv's listener, which would end the file first.
    socket.once('error', (cause) => this.fail(new FtpError(426, 'The data connection was lost', { cause })));
    socket.once('close', () => {
      if (!writer.writableEnded) this.fail(new FtpError(426, 'The data connection was lost'));
    });
    void writer.whenClosed.then(() => {
      clearTimeout(this.#grace);
      // Waits for the reply to be sent: some clients close their side only after it.
      setTimeout(() => socket.destroy(), 1_000).unref();
    });
  }

  fail(error: FtpError): void {
    // After a write error, the loss of the data connection is only its consequence and is not reported as the reason.
    if (this.writer.errored === null) {
      this.failure ??= error;
      this.writer.fail(error);
    }
    this.#socket.destroy();
  }

  /**
   * Continues after the control connection has closed. Data that the camera sent earlier may still be in transit. It is
   * accepted until the end of the data connection, or until a gap longer than the grace period. ftp-srv would close the
   * data connection immediately.
   */
  continueAfterControlLoss(graceMs: number): void {
    this.#connector.closeSocket = () => undefined;
    this.#waitForMoreData(graceMs);
  }

  #waitForMoreData(graceMs: number): void {
    const { bytesRead: bytesReadBefore } = this.#socket;
    this.#grace = setTimeout(() => {
      // Runs after the data that arrived while this process was blocked for longer than the grace period: timers run
      // before sockets are read.
      setImmediate(() => {
        const { bytesRead, readableLength, readableEnded } = this.#socket;
        if (readableEnded || this.writer.closed) return;
        if (bytesRead > bytesReadBefore || readableLength > 0) this.#waitForMoreData(graceMs);
        else this.fail(new FtpError(426, 'The control connection was lost'));
      });
    }, graceMs);
  }
}
