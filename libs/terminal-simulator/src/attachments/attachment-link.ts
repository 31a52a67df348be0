import net from 'node:net';
import { type Frame, FrameSplitter, platformGeneralResponse, tryDecodeBody } from '@fleet/jt808';
import type { PlatformMessage } from '../frame-log.ts';
import type { MessageEncoder } from '../message-encoder.ts';
import { SubpackageReassembler } from '../subpackage-reassembler.ts';
import type { TerminalMessage } from '../terminal-options.ts';

const connectTimeoutMs = 10_000;
const responseTimeoutMs = 30_000;

/** The connection to an attachment server was lost, or the server did not respond. */
class AttachmentLinkError extends Error {
  override readonly name = 'AttachmentLinkError';
}

/** Connects to an attachment server: exchanges messages with responses, and raw data between them. */
export class AttachmentLink {
  readonly #socket: net.Socket;
  readonly #encoder: MessageEncoder;
  readonly #splitter = new FrameSplitter();
  readonly #reassembler = new SubpackageReassembler();
  readonly #responses: PlatformMessage[] = [];
  #wake: () => void = () => undefined;
  #failure: Error | null = null;

  private constructor(socket: net.Socket, encoder: MessageEncoder) {
    this.#socket = socket;
    this.#encoder = encoder;
    socket.on('data', (chunk: Buffer) => this.#splitter.push(chunk, (frame) => this.#onFrame(frame)));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new AttachmentLinkError('closed by the platform')));
  }

  static async open(address: { host: string; port: number }, encoder: MessageEncoder): Promise<AttachmentLink> {
    const socket = net.connect({ ...address, noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.setTimeout(connectTimeoutMs, () => socket.destroy(new AttachmentLinkError('connecting timed out')));
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
    socket.setTimeout(0);
    socket.removeAllListeners('error');
    return new AttachmentLink(socket, encoder);
  }

  /** Sends a message and returns the result of its 0x8001. */
  async sendAndConfirm(message: TerminalMessage): Promise<number> {
    const serial = this.send(message);
    for (;;) {
      const response = await this.waitForResponse(platformGeneralResponse.id);
      const decoded = tryDecodeBody(platformGeneralResponse, response.body);
      if (decoded.ok && decoded.body.replySerial === serial && decoded.body.replyId === message.messageId)
        return decoded.body.result;
    }
  }

  /** Sends a message and returns the serial of its last frame, which the response repeats. */
  send(message: TerminalMessage): number {
    const frames = this.#encoder.encode(message);
    for (const { wire } of frames) this.#write(wire);
    return frames.at(-1)?.serial ?? 0;
  }

  /** Sends raw bytes; waits for drain when the socket buffer is full. */
  async sendRaw(bytes: Buffer): Promise<void> {
    if (this.#write(bytes)) return;
    await new Promise<void>((resolve) => {
      this.#socket.once('drain', resolve);
      this.#socket.once('close', () => resolve());
    });
    if (this.#failure !== null) throw this.#failure;
  }

  /** Returns the next response with one of the ids; discards other responses before it. */
  async waitForResponse(...messageIds: number[]): Promise<PlatformMessage> {
    const deadline = performance.now() + responseTimeoutMs;
    for (;;) {
      const responseIndex = this.#responses.findIndex(({ messageId }) => messageIds.includes(messageId));
      if (responseIndex >= 0) return this.#responses.splice(0, responseIndex + 1).at(-1) as PlatformMessage;
      if (this.#failure !== null) throw this.#failure;
      const remainingMs = deadline - performance.now();
      if (remainingMs <= 0) throw new AttachmentLinkError('the platform did not respond');
      await this.#waitForChange(remainingMs);
    }
  }

  /** Ends the connection after the written data, or resets it immediately. */
  end(mode: 'finish' | 'reset'): void {
    if (mode === 'finish') this.#socket.end();
    else this.#socket.resetAndDestroy();
  }

  destroy(): void {
    this.#socket.destroy();
  }

  #write(bytes: Buffer): boolean {
    if (this.#failure !== null) throw this.#failure;
    return this.#socket.write(bytes);
  }

  #onFrame(frame: Frame): void {
    const message = this.#reassembler.push(frame, Date.now());
    if (message === null) return;
    this.#responses.push(message);
    this.#wake();
  }

  #fail(error: Error): void {
    this.#failure ??= error;
    this.#wake();
  }

  #waitForChange(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
