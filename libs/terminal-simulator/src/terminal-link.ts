import net from 'node:net';
import { type Frame, FrameSplitter } from '@fleet/jt808';

/** Told about one TCP connection to the platform. */
export interface LinkHandlers {
  onOpen: () => void;
  onFrame: (frame: Frame) => void;
  /** Once, whether it was ever open or not. */
  onClose: (reason: string) => void;
}

const connectTimeoutMs = 10_000;

/** One TCP connection of a terminal: frames in, bytes out, and the ways to treat a peer badly. */
export class TerminalLink {
  readonly #socket: net.Socket;
  readonly #splitter = new FrameSplitter();
  readonly #handlers: LinkHandlers;
  #isHalfOpen = false;
  #reason = 'closed by the platform';

  constructor(address: { host: string; port: number }, handlers: LinkHandlers) {
    this.#handlers = handlers;
    const socket = net.connect({ ...address, noDelay: true });
    this.#socket = socket;
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('no connection in time')));
    socket.on('connect', () => {
      socket.setTimeout(0);
      handlers.onOpen();
    });
    socket.on('data', (chunk: Buffer) => this.#splitter.push(chunk, (frame) => this.#onFrame(frame)));
    socket.on('error', (error) => {
      this.#reason = error.message;
    });
    socket.on('close', () => handlers.onClose(this.#reason));
  }

  /** Local port, to tell connections apart in logs. */
  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  /** Sends bytes; gives false when they went nowhere. */
  write(bytes: Buffer): boolean {
    if (this.#isHalfOpen || this.#socket.destroyed || this.#socket.pending) return false;
    this.#socket.write(bytes);
    return true;
  }

  /** Leaves what comes in the socket, until `read(true)`. */
  setReading(isReading: boolean): void {
    if (isReading) this.#socket.resume();
    else this.#socket.pause();
  }

  /** From now on nothing goes in or out, and the connection does not end: the radio is gone. */
  simulateHalfOpen(): void {
    this.#isHalfOpen = true;
    this.#socket.pause();
  }

  /** Ends the connection after what was written. */
  end(reason: string): void {
    this.#reason = reason;
    this.#socket.end();
    // A platform that does not read would otherwise keep the connection forever.
    setTimeout(() => this.#socket.destroy(), 500).unref();
  }

  /** Ends the connection at once. */
  destroy(reason: string): void {
    this.#reason = reason;
    this.#socket.destroy();
  }

  #onFrame(frame: Frame): void {
    if (!this.#isHalfOpen) this.#handlers.onFrame(frame);
  }
}
