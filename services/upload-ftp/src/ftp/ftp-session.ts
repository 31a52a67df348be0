import { Socket } from 'node:net';
import type { Logger } from '@fleet/service-kit';
import type { ActiveUpload } from '../uploads/active-upload.ts';
import type { UploadConnection } from '../uploads/active-uploads.ts';
import type { FileWriter } from '../uploads/file-writer.ts';
import { DataCommands, type DataConnectionLimits } from './data-commands.ts';
import { FtpError } from './ftp-error.ts';
import type { Connection } from './ftp-srv-internals.ts';
import { LineBuffer } from './line-buffer.ts';
import { sanitizeReplies } from './sanitize-replies.ts';
import { sendSize } from './send-size.ts';
import { Transfer } from './transfer.ts';

export interface SessionLimits extends DataConnectionLimits {
  readonly loginTimeoutMs: number;
  readonly controlIdleTimeoutMs: number;
  readonly dataIdleTimeoutMs: number;
  /** Wait for data in transit after the control connection closes. */
  readonly lostControlGraceMs: number;
  readonly isTlsRequired: boolean;
}

interface FtpSessionDeps {
  readonly limits: SessionLimits;
  readonly log: Logger;
  readonly isDraining: () => boolean;
  readonly onClose: (session: FtpSession) => void;
}

const maxLineBytes = 8 * 1024;
/** Limit on queued commands. No camera sends more before the first is complete. */
const maxPendingLines = 100;
/** Time limit of a command that is not a transfer. */
const commandTimeoutMs = 60_000;
/** Time for a camera to send QUIT by itself after its upload has ended. */
const quitTimeoutMs = 3_000;

const features = ['EPRT', 'EPSV', 'REST STREAM', 'SIZE', 'TYPE A;I', 'UTF8'];

/**
 * Handles one control connection. Reads commands, replaces those of ftp-srv that are faulty, and supervises the
 * transfer.
 */
export class FtpSession implements UploadConnection {
  readonly connection: Connection;
  upload: ActiveUpload | null = null;
  refusals = 0;
  readonly #deps: FtpSessionDeps;
  readonly #dataCommands: DataCommands;
  #lines = new LineBuffer(maxLineBytes);
  #pendingLineCount = 0;
  #tail: Promise<unknown> = Promise.resolve();
  #transfer: Transfer | null = null;
  /** The transfer of the running command, even after its file is closed. */
  #commandTransfer: Transfer | null = null;
  #isQuitting = false;
  /** Once true, no further command is executed. */
  #isClosing = false;
  #isClosed = false;
  #idleTimer: NodeJS.Timeout;
  #loginTimer: NodeJS.Timeout;

  constructor(connection: Connection, deps: FtpSessionDeps) {
    this.connection = connection;
    this.#deps = deps;
    const { limits } = deps;
    this.#dataCommands = new DataCommands(connection, limits);
    this.#loginTimer = setTimeout(() => this.#onLoginTimeout(), limits.loginTimeoutMs);
    this.#idleTimer = setTimeout(() => this.#onIdle(), limits.controlIdleTimeoutMs);
    this.#loginTimer.unref();
    this.#idleTimer.unref();
    sanitizeReplies(connection, () => this.#commandTransfer?.failure?.message);
    this.#attachReader();
    const socket = connection.commandSocket;
    socket.setKeepAlive(true, 30_000);
    // Registered first, before ftp-srv reacts to the event and closes the data connection.
    socket.prependOnceListener('close', (hadError: boolean) => this.#onClosed(hadError));
  }

  /** True while a file is being received. */
  get isReceiving(): boolean {
    return this.#transfer !== null;
  }

  /** Supervises a transfer that ftp-srv starts. Throws if the transfer cannot start. */
  startTransfer(writer: FileWriter): void {
    if (this.#isClosed) throw new FtpError(426, 'The control connection was lost');
    const transfer = new Transfer(this.connection, writer, this.#deps.limits.dataIdleTimeoutMs);
    this.#transfer = transfer;
    this.#commandTransfer = transfer;
    void writer.whenClosed.then(() => {
      if (this.#transfer === transfer) this.#transfer = null;
    });
  }

  close(code: number, sentence: string): void {
    this.#isClosing = true;
    if (!this.#isClosed) void this.connection.close(code, sentence);
  }

  onReplaced(): void {
    this.close(421, 'Replaced by a newer login');
  }

  onUploadEnded(): void {
    if (this.#isClosed) return;
    const timer = setTimeout(() => this.close(421, 'The upload has ended'), quitTimeoutMs);
    this.connection.commandSocket.once('close', () => clearTimeout(timer));
  }

  /**
   * Replaces ftp-srv's reader, which parses each TCP segment separately and replies 502 to a command split over two.
   */
  #attachReader(): void {
    const socket = this.connection.commandSocket;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    // ftp-srv pauses the control connection during a transfer, so that neither ABOR nor a disconnect would be detected.
    socket.pause = () => socket;
  }

  #onData(chunk: Buffer): void {
    const complete = this.#lines.push(chunk);
    if (complete === null || this.#pendingLineCount + complete.length > maxPendingLines) {
      this.connection.commandSocket.removeAllListeners('data');
      this.close(421, 'Too much pending input');
      return;
    }
    for (const line of complete) {
      this.#idleTimer.refresh();
      if (/^abor\b/i.test(line)) void this.#abort();
      else {
        this.#pendingLineCount += 1;
        if (/^quit\b/i.test(line)) this.#isQuitting = true;
        this.#tail = this.#tail.then(() => this.#runLine(line));
      }
    }
  }

  async #runLine(line: string): Promise<void> {
    const [command = '', ...rest] = line.trimStart().split(' ');
    const directive = command.toUpperCase();
    try {
      if (!this.#isClosing) await this.#execute(directive, rest.join(' ').trim(), line);
    } catch (error) {
      const failure = error instanceof FtpError ? error : new FtpError(501, 'Not understood', { cause: error });
      // The line is not logged, because it may contain a password.
      if (!(error instanceof FtpError)) this.#deps.log.warn({ err: error, directive }, 'FTP command failed');
      await this.connection.reply(failure.code, failure.message);
    } finally {
      this.#pendingLineCount -= 1;
      this.#idleTimer.refresh();
    }
  }

  #execute(directive: string, argument: string, line: string): Promise<unknown> {
    const { connection } = this;
    const { limits, isDraining } = this.#deps;
    switch (directive) {
      case 'USER':
      case 'PASS':
        if (limits.isTlsRequired && !connection.secure)
          return connection.reply(530, 'Use AUTH TLS first, the password would be sent unencrypted');
        // ftp-srv accepts one user name per connection, but some cameras try `anonymous` first.
        if (directive === 'USER' && connection.authenticated !== true) connection.username = undefined;
        return this.#withTimeout(commandTimeoutMs, connection.commands.handle(line));
      case 'AUTH':
        return this.#secure(line);
      case 'FEAT':
        return this.#sendFeatures();
      case 'QUIT':
        return this.#quit(line);
      case 'REST':
        if (!/^\d{1,15}$/.test(argument)) return connection.reply(501, 'Invalid number of bytes');
        return connection.commands.handle(line);
    }
    if (connection.authenticated === true) {
      switch (directive) {
        case 'STOR':
        case 'APPE':
          if (isDraining()) return connection.reply(421, 'The server is stopping, try again');
          return this.#store(line);
        case 'LIST':
        case 'NLST':
        case 'MLSD':
          return this.#dataCommands.sendEmptyList();
        case 'SIZE':
          return sendSize(connection, argument);
        case 'PORT':
        case 'EPRT':
        case 'PASV':
        case 'EPSV':
          return this.#withTimeout(commandTimeoutMs, this.#dataCommands.prepare(directive, argument, line));
      }
    }
    return this.#withTimeout(commandTimeoutMs, connection.commands.handle(line));
  }

  async #store(line: string): Promise<void> {
    try {
      await this.#dataCommands.store(line);
    } finally {
      this.#commandTransfer = null;
    }
  }

  async #sendFeatures(): Promise<void> {
    const secure = this.#deps.limits.secureContext !== null ? ['AUTH TLS', 'PBSZ', 'PROT'] : [];
    const lines = [...secure, ...features].map((message) => ({ message: ` ${message}`, raw: true }));
    await this.connection.reply(211, 'Extensions supported', ...lines, 'End');
  }

  async #quit(line: string): Promise<void> {
    // The record must contain the QUIT before the upload is evaluated.
    await this.upload?.recordQuit();
    await this.connection.commands.handle(line);
  }

  /**
   * Starts TLS. Plain text received after AUTH must not count as sent inside TLS, and handshake bytes must not be read
   * as commands.
   */
  async #secure(line: string): Promise<void> {
    const { connection } = this;
    const plain = connection.commandSocket;
    if (this.#pendingLineCount > 1 || this.#lines.hasPartialLine) {
      this.close(421, 'No data may follow AUTH');
      return;
    }
    if (this.#deps.limits.secureContext === null || connection.secure) {
      await connection.commands.handle(line);
      return;
    }
    plain.removeAllListeners('data');
    Socket.prototype.pause.call(plain);
    this.#lines = new LineBuffer(maxLineBytes);
    await connection.commands.handle(line);
    this.#attachReader();
    connection.commandSocket.resume();
  }

  /**
   * Handles ABOR immediately, ahead of the transfer that it aborts. ftp-srv would write its reply to the data
   * connection.
   */
  async #abort(): Promise<void> {
    const { connection } = this;
    if (connection.authenticated !== true) {
      await connection.reply(530, 'Not logged in');
      return;
    }
    const transfer = this.#transfer;
    transfer?.fail(new FtpError(426, 'Aborted'));
    // The reply of the transfer is sent first.
    if (transfer !== null) await this.#tail;
    else connection.connector.end();
    await connection.reply(226, 'Aborted');
  }

  async #withTimeout(timeoutMs: number, task: Promise<unknown>): Promise<void> {
    const timer = setTimeout(() => this.close(421, 'The command timed out'), timeoutMs).unref();
    try {
      await task;
    } finally {
      clearTimeout(timer);
    }
  }

  #onLoginTimeout(): void {
    if (this.connection.authenticated !== true) this.close(421, 'The login timed out');
  }

  #onIdle(): void {
    if (this.isReceiving || this.#pendingLineCount > 0) this.#idleTimer.refresh();
    else this.close(421, 'The connection was idle for too long');
  }

  #onClosed(hadError: boolean): void {
    this.#isClosed = true;
    clearTimeout(this.#loginTimer);
    clearTimeout(this.#idleTimer);
    const transfer = this.#transfer;
    const { lostControlGraceMs, dataIdleTimeoutMs } = this.#deps.limits;
    if (transfer !== null && hadError) transfer.fail(new FtpError(426, 'The control connection was lost'));
    else
      transfer?.continueAfterControlLoss(
        this.#isQuitting ? Math.max(dataIdleTimeoutMs, lostControlGraceMs) : lostControlGraceMs,
      );
    this.#deps.onClose(this);
  }
}
