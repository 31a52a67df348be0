import net from 'node:net';
import { type Frame, FrameSplitter, platformGeneralResponse, tryDecodeBody } from '@fleet/jt808';
import type { PlatformMessage } from '../frame-log.ts';
import type { Outbox } from '../outbox.ts';
import { PartJoiner } from '../part-joiner.ts';
import type { TerminalMessage } from '../terminal-options.ts';

const connectTimeoutMs = 10_000;
const answerTimeoutMs = 30_000;

/** The connection to an attachment server is gone, or the server does not answer. */
export class AttachmentLinkError extends Error {
  override readonly name = 'AttachmentLinkError';
}

/** One connection to an attachment server: messages that are answered, and raw data between them. */
export class AttachmentLink {
  readonly #socket: net.Socket;
  readonly #outbox: Outbox;
  readonly #splitter = new FrameSplitter();
  readonly #joiner = new PartJoiner();
  readonly #answers: PlatformMessage[] = [];
  #wake: () => void = () => undefined;
  #failure: Error | null = null;

  private constructor(socket: net.Socket, outbox: Outbox) {
    this.#socket = socket;
    this.#outbox = outbox;
    socket.on('data', (chunk: Buffer) => this.#splitter.push(chunk, (frame) => this.#take(frame)));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new AttachmentLinkError('closed by the platform')));
  }

  static async open(address: { host: string; port: number }, outbox: Outbox): Promise<AttachmentLink> {
    const socket = net.connect({ ...address, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(connectTimeoutMs, () => socket.destroy(new AttachmentLinkError('no connection in time')));
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.setTimeout(0);
    socket.removeAllListeners('error');
    return new AttachmentLink(socket, outbox);
  }

  /** Sends a message and gives the result of its 0x8001. */
  async confirmed(message: TerminalMessage): Promise<number> {
    const serial = this.send(message);
    for (;;) {
      const answer = await this.next(platformGeneralResponse.id);
      const decoded = tryDecodeBody(platformGeneralResponse, answer.body);
      if (decoded.ok && decoded.body.replySerial === serial && decoded.body.replyId === message.messageId)
        return decoded.body.result;
    }
  }

  /** Sends a message; gives the serial of its last frame, which an answer repeats. */
  send(message: TerminalMessage): number {
    const frames = this.#outbox.encode(message);
    for (const { wire } of frames) this.#write(wire);
    return frames.at(-1)?.serial ?? 0;
  }

  /** Sends raw bytes, and waits while the network takes no more. */
  async raw(bytes: Buffer): Promise<void> {
    if (this.#write(bytes)) return;
    await new Promise<void>((resolve) => {
      this.#socket.once('drain', resolve);
      this.#socket.once('close', () => resolve());
    });
    if (this.#failure !== null) throw this.#failure;
  }

  /** The next answer of an id; other answers before it are passed over. */
  async next(...messageIds: number[]): Promise<PlatformMessage> {
    const deadline = performance.now() + answerTimeoutMs;
    for (;;) {
      const found = this.#answers.findIndex(({ messageId }) => messageIds.includes(messageId));
      if (found >= 0) return this.#answers.splice(0, found + 1).at(-1) as PlatformMessage;
      if (this.#failure !== null) throw this.#failure;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw new AttachmentLinkError('the platform does not answer');
      await this.#change(leftMs);
    }
  }

  /** Ends it after what was written, or at once. */
  end(how: 'finish' | 'reset'): void {
    if (how === 'finish') this.#socket.end();
    else this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #write(bytes: Buffer): boolean {
    if (this.#failure !== null) throw this.#failure;
    return this.#socket.write(bytes);
  }

  #take(frame: Frame): void {
    const message = this.#joiner.take(frame, Date.now());
    if (message === null) return;
    this.#answers.push(message);
    this.#wake();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  #change(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
