import net from 'node:net';
import tls from 'node:tls';

/** One reply of an FTP server. */
interface FtpReply {
  code: number;
  text: string;
}

/** Thrown when the server refused a command. */
export class FtpRefusalError extends Error {
  override readonly name = 'FtpRefusalError';
  readonly code: number;

  constructor(reply: FtpReply) {
    super(reply.text);
    this.code = reply.code;
  }
}

/** Timeout of a reply. */
const replyTimeoutMs = 30_000;

/** Terminals have no certificate authorities. */
const tlsOptions: tls.ConnectionOptions = { rejectUnauthorized: false };

/** Upgrades a socket to TLS; resolves after the handshake. */
export async function upgradeToTls(socket: net.Socket, session?: Buffer): Promise<tls.TLSSocket> {
  const upgraded = tls.connect({ ...tlsOptions, socket, ...(session === undefined ? {} : { session }) });
  await new Promise<void>((resolve, reject) => {
    upgraded.once('secureConnect', resolve);
    upgraded.once('error', reject);
    upgraded.once('close', () => reject(new Error('connection closed during the TLS handshake')));
  });
  return upgraded;
}

/**
 * Manages the control connection of an FTP client that can close in every way of a camera: with QUIT and without, by
 * FIN and by RST. (basic-ftp sends QUIT whenever it closes, and supports neither PORT nor REST with STOR.)
 */
export class FtpControl {
  #socket: net.Socket;
  #session: Buffer | undefined;
  #pending = '';
  #lines: string[] = [];
  readonly #replies: FtpReply[] = [];
  #waiter: (() => void) | null = null;
  #error: Error | null = null;

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    this.#listen();
  }

  /** Connects and reads the greeting. An abort destroys the connection, also later on. */
  static async open(host: string, port: number, signal: AbortSignal): Promise<FtpControl> {
    const socket = net.connect({ host, port, signal });
    socket.setTimeout(replyTimeoutMs, () => socket.destroy(new Error('connecting to the FTP server timed out')));
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.setTimeout(0);
    const control = new FtpControl(socket);
    try {
      await control.readReply();
      return control;
    } catch (error) {
      control.close('finish');
      throw error;
    }
  }

  get socket(): net.Socket {
    return this.#socket;
  }

  /** TLS session for the data connections: servers require the same session there. */
  get tlsSession(): Buffer | undefined {
    return this.#session ?? (this.#socket instanceof tls.TLSSocket ? this.#socket.getSession() : undefined);
  }

  get isSecure(): boolean {
    return this.#socket instanceof tls.TLSSocket;
  }

  /** Sends AUTH TLS, and enables TLS for the data connections too. */
  async secure(): Promise<void> {
    await this.command('AUTH TLS');
    this.#socket.removeAllListeners();
    const upgraded = await upgradeToTls(this.#socket);
    upgraded.on('session', (session: Buffer) => {
      this.#session = session;
    });
    this.#socket = upgraded;
    this.#listen();
    await this.command('PBSZ 0');
    await this.command('PROT P');
  }

  async logIn(username: string, password: string): Promise<void> {
    const { code } = await this.command(`USER ${username}`);
    if (code === 331) await this.command(`PASS ${password}`);
    await this.command('TYPE I');
  }

  /** Sends a command and returns its first reply; throws FtpRefusalError on 4xx and 5xx. */
  command(line: string): Promise<FtpReply> {
    this.#socket.write(`${line}\r\n`);
    return this.readReply();
  }

  /** Returns the next reply. */
  async readReply(timeoutMs = replyTimeoutMs): Promise<FtpReply> {
    const timer = setTimeout(() => this.#fail(new Error('the FTP server did not reply')), timeoutMs);
    while (this.#replies.length === 0 && this.#error === null) {
      await new Promise<void>((resolve) => {
        this.#waiter = resolve;
      });
    }
    clearTimeout(timer);
    const reply = this.#replies.shift();
    if (reply === undefined) throw this.#error ?? new Error('no reply');
    if (reply.code >= 400) throw new FtpRefusalError(reply);
    return reply;
  }

  /** True once the connection was lost or closed. */
  get isClosed(): boolean {
    return this.#error !== null;
  }

  /** Sends QUIT and closes. */
  async quit(): Promise<void> {
    await this.command('QUIT');
    this.close('finish');
  }

  /** Closes without QUIT. */
  close(how: 'finish' | 'reset'): void {
    if (how === 'reset') this.#socket.resetAndDestroy();
    else this.#socket.destroy();
    this.#fail(new Error('closed by the terminal'));
  }

  #listen(): void {
    this.#socket.setEncoding('utf8');
    this.#socket.on('data', (chunk: string) => this.#onData(chunk));
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('close', () => this.#fail(new Error('the control connection was lost')));
  }

  #fail(error: Error): void {
    this.#error ??= error;
    this.#wake();
  }

  #wake(): void {
    this.#waiter?.();
    this.#waiter = null;
  }

  #onData(chunk: string): void {
    const lines = (this.#pending + chunk).split('\r\n');
    this.#pending = lines.pop() ?? '';
    for (const line of lines) {
      this.#lines.push(line);
      // The last line of a multi-line reply has a space after the code.
      const match = /^(\d{3}) /.exec(line);
      if (match === null) continue;
      this.#replies.push({ code: Number(match[1]), text: this.#lines.join('\n') });
      this.#lines = [];
    }
    this.#wake();
  }
}
