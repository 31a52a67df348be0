import net from 'node:net';
import { type Frame, FrameSplitter } from '@fleet/jt808';

/** Callbacks of one TCP connection to the platform. */
interface LinkHandlers {
  onOpen: () => void;
  onFrame: (frame: Frame) => void;
  /** Called once, whether or not the connection was ever open. */
  onClose: (reason: string) => void;
}

const connectTimeoutMs = 10_000;

/** Manages one TCP connection of a terminal: receives frames, sends bytes, and can simulate faulty behaviour. */
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
    socket.setTimeout(connectTimeoutMs, () => socket.destroy(new Error('connecting timed out')));
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

  /** Local port, which distinguishes connections in logs. */
  get localPort(): number | undefined {
    return this.#socket.localPort;
  }

  /** Sends bytes; returns false if they were discarded. */
  write(bytes: Buffer): boolean {
    if (this.#isHalfOpen || this.#socket.destroyed || this.#socket.pending) return false;
    this.#socket.write(bytes);
    return true;
  }

  /** Leaves received data in the socket until `setReading(true)`. */
  setReading(isReading: boolean): void {
    if (isReading) this.#socket.resume();
    else this.#socket.pause();
  }

  /** Simulates a lost radio link: sends and receives nothing, and does not end the connection. */
  simulateHalfOpen(): void {
    this.#isHalfOpen = true;
    this.#socket.pause();
  }

  /** Ends the connection after the written data. */
  end(reason: string): void {
    this.#reason = reason;
    this.#socket.end();
    // A platform that does not read would otherwise hold the connection open forever.
    setTimeout(() => this.#socket.destroy(), 500).unref();
  }

  /** Ends the connection immediately. */
  destroy(reason: string): void {
    this.#reason = reason;
    this.#socket.destroy();
  }

  #onFrame(frame: Frame): void {
    if (!this.#isHalfOpen) this.#handlers.onFrame(frame);
  }
}
