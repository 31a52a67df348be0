import type net from 'node:net';
import { pipeline } from 'node:stream/promises';
import { FtpControl, FtpRefusalError } from './ftp-control.ts';
import { type DataMode, openData } from './ftp-data.ts';

/** Server and credentials of an upload. */
interface FtpAccess {
  server: string;
  port: number;
  username: string;
  password: string;
  secure: boolean;
  dataMode: DataMode;
}

/** Command to send a file: from its first byte, or after the bytes that the server has. */
export type StoreCommand = { verb: 'STOR' | 'APPE' } | { verb: 'REST'; offset: number };

/** Time for the server to report why it broke a transfer. */
const finalReplyTimeoutMs = 2000;

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/** Runs one FTP session of a camera. */
export class CameraFtp {
  readonly #control: FtpControl;
  readonly #dataMode: DataMode;
  #data: net.Socket | null = null;
  #isControlBroken = false;
  #depth = 0;

  private constructor(control: FtpControl, dataMode: DataMode) {
    this.#control = control;
    this.#dataMode = dataMode;
  }

  /** Connects and logs in. An abort destroys the session, also later on. */
  static async open(access: FtpAccess, signal: AbortSignal): Promise<CameraFtp> {
    const control = await FtpControl.open(access.server, access.port, signal);
    try {
      if (access.secure) await control.secure();
      await control.logIn(access.username, access.password);
    } catch (error) {
      control.close('finish');
      throw error;
    }
    return new CameraFtp(control, access.dataMode);
  }

  /**
   * Enters a directory step by step, and creates it if necessary: the server refuses MKD of an existing directory,
   * which is ignored.
   */
  async enterDirectory(directory: string): Promise<void> {
    if (directory.startsWith('/')) await this.#control.command('CWD /');
    for (const step of directory.split('/').filter((name) => name !== '')) {
      await this.#ignoreRefusal(this.#control.command(`MKD ${step}`));
      await this.#control.command(`CWD ${step}`);
    }
  }

  /** Enters a directory below the one of `enterDirectory`, from any directory entered by an earlier call. */
  async changeDirectory(directory: string): Promise<void> {
    for (; this.#depth > 0; this.#depth -= 1) await this.#control.command('CDUP');
    await this.enterDirectory(directory);
    this.#depth = directory.split('/').filter((name) => name !== '').length;
  }

  /** Returns the size of a file on the server; 0 if it does not exist. */
  async getSize(name: string): Promise<number> {
    const reply = await this.#ignoreRefusal(this.#control.command(`SIZE ${name}`));
    return reply === undefined ? 0 : Number(reply.text.slice(4));
  }

  /** Sends a file; resolves when the server has confirmed it. */
  async store(name: string, command: StoreCommand, chunks: AsyncIterable<Buffer>): Promise<void> {
    const data = await openData(this.#control, this.#dataMode);
    try {
      if (command.verb === 'REST') await this.#control.command(`REST ${command.offset}`);
      await this.#control.command(`${command.verb === 'REST' ? 'STOR' : command.verb} ${name}`);
      const lost = this.#waitForControlLoss();
      const connected = await Promise.race([data.waitUntilConnected(), lost]);
      if (connected instanceof Error) throw connected;
      this.#data = connected;
      const sendResult = pipeline(chunks, connected).then(() => null, toError);
      const error = await Promise.race([sendResult, lost]);
      if (error !== null) throw await this.#resolveError(error);
      await this.#control.readReply();
    } catch (error) {
      if (!this.#isControlBroken) data.abandon();
      throw error;
    }
  }

  /** Resets the data connection alone, in the middle of a file. */
  breakData(): void {
    this.#data?.resetAndDestroy();
  }

  /** Drops the control connection alone: the data connection stays open until `close`. */
  breakControl(): void {
    this.#isControlBroken = true;
    this.#control.close('reset');
  }

  quit(): Promise<void> {
    return this.#control.quit();
  }

  /** Closes both connections without QUIT. */
  close(how: 'finish' | 'reset'): void {
    if (how === 'reset') this.#data?.resetAndDestroy();
    else this.#data?.destroy();
    this.#control.close(how);
  }

  /** Resolves with the reason when the control connection is lost during a transfer. */
  #waitForControlLoss(): Promise<Error> {
    const { socket } = this.#control;
    if (socket.destroyed) return Promise.resolve(new Error('the control connection was lost'));
    return new Promise((resolve) => {
      socket.once('close', () => resolve(new Error('the control connection was lost')));
    });
  }

  /**
   * Returns the server's reply about a broken transfer, which is more specific than the error of its data connection.
   */
  async #resolveError(error: Error): Promise<Error> {
    if (this.#control.isClosed) return error;
    try {
      await this.#control.readReply(finalReplyTimeoutMs);
      return error;
    } catch (refusal) {
      return refusal instanceof FtpRefusalError ? refusal : error;
    }
  }

  async #ignoreRefusal<T>(reply: Promise<T>): Promise<T | undefined> {
    try {
      return await reply;
    } catch (error) {
      if (error instanceof FtpRefusalError) return undefined;
      throw error;
    }
  }
}
