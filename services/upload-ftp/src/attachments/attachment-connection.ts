import type { Socket } from 'node:net';
import {
  type AttachmentPacket,
  AttachmentSplitter,
  type Frame,
  generalReplyMaxBytes,
  writeGeneralReply,
} from '@fleet/jt808';
import {
  AttachmentSession,
  type AttachmentSessionDeps,
  type EndReason,
  type SessionTransport,
} from './attachment-session.ts';

type CloseReason = 'peer' | 'error' | 'idle' | 'login' | 'slowReader' | 'addressLimit' | EndReason;

export interface AttachmentConnectionOptions extends AttachmentSessionDeps {
  readonly loginTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxPacketBytes: number;
  readonly onClose: (connection: AttachmentConnection) => void;
}

type SplitItem =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'data'; readonly packet: AttachmentPacket; readonly offset: number; readonly data: Buffer };

/** Largest number of unsent response bytes for a terminal that does not read. */
const maxUnsentBytes = 64 * 1024;
const endTimeoutMs = 1_000;
/** Shared by all connections, so that a connection of an unknown terminal costs little more than a frame. */
const scratch = Buffer.allocUnsafeSlow(generalReplyMaxBytes);

/**
 * Handles one connection of a terminal that sends attachments. Each chunk is processed before the next is read, so that
 * a slow disk applies backpressure to the terminal.
 */
export class AttachmentConnection implements SessionTransport {
  readonly remoteAddress: string;
  closeReason: CloseReason = 'peer';
  readonly splitter: AttachmentSplitter;
  readonly #socket: Socket;
  readonly #options: AttachmentConnectionOptions;
  readonly #session: AttachmentSession;
  #loginTimer: NodeJS.Timeout | undefined;
  #endTimer: NodeJS.Timeout | undefined;
  #isEnding = false;
  #isDraining = false;
  #work: Promise<void> = Promise.resolve();
  #serial = 0;

  /** Requires a socket that allows half-open connections: data received before a FIN still gets responses. */
  constructor(socket: Socket, options: AttachmentConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.remoteAddress = socket.remoteAddress ?? '';
    this.splitter = new AttachmentSplitter({ maxPacketBytes: options.maxPacketBytes });
    this.#session = new AttachmentSession(options, this);
    this.#loginTimer = setTimeout(() => this.#close('login'), options.loginTimeoutMs);
    socket.setTimeout(options.idleTimeoutMs, () => this.#close('idle'));
    socket.on('data', (chunk: Buffer) => {
      socket.pause();
      this.#work = this.#work.then(() => this.#read(chunk));
    });
    socket.on('end', () => {
      this.#work = this.#work.then(() => void socket.end());
    });
    socket.on('error', () => {
      // Many terminals disconnect with a reset. The close event follows.
      if (this.closeReason === 'peer') this.closeReason = 'error';
    });
    socket.on('close', () => {
      clearTimeout(this.#loginTimer);
      clearTimeout(this.#endTimer);
      this.#work = this.#work.then(() => {
        this.#session.leave();
        options.onClose(this);
      });
    });
  }

  send(bytes: Buffer): void {
    if (!this.#socket.writable) return;
    if (this.#socket.writableLength + bytes.length > maxUnsentBytes) this.#close('slowReader');
    else this.#socket.write(bytes);
  }

  reply(frame: Frame, result: number): void {
    const end = writeGeneralReply(
      scratch,
      0,
      frame.toAddress(),
      this.reserveSerials(1),
      frame.serial,
      frame.messageId,
      result,
    );
    this.send(Buffer.from(scratch.subarray(0, end)));
  }

  reserveSerials(count: number): number {
    const first = this.#serial;
    this.#serial = (first + count) & 0xffff;
    return first;
  }

  end(reason: EndReason): void {
    if (this.#isEnding || this.#socket.destroyed) return;
    this.#isEnding = true;
    this.closeReason = reason;
    this.#socket.end();
    this.#endTimer = setTimeout(() => this.#socket.destroy(), endTimeoutMs);
  }

  /** Ends the connection once no announced file is missing. */
  drain(): void {
    this.#isDraining = true;
    if (!this.#session.hasMissingFiles) this.end('stop');
  }

  /** Closes the connection immediately. Resolves when all writes have finished. */
  async stop(reason: CloseReason = 'stop'): Promise<void> {
    this.#close(reason);
    await this.#work;
  }

  #close(reason: CloseReason): void {
    if (this.#socket.destroyed) return;
    if (!this.#isEnding) this.closeReason = reason;
    this.#socket.destroy();
  }

  async #read(chunk: Buffer): Promise<void> {
    const items: SplitItem[] = [];
    try {
      this.splitter.push(chunk, {
        onFrame: (frame) => items.push({ kind: 'frame', frame }),
        onData: (packet, offset, data) => items.push({ kind: 'data', packet, offset, data }),
      });
      for (const item of items) {
        if (this.#isEnding) break;
        if (item.kind === 'data') await this.#session.handleData(item.packet, item.offset, item.data);
        else await this.#session.handleFrame(item.frame);
      }
    } catch (error) {
      // The disk is full, the broker is unavailable, or this is a defect. Only this connection ends, and its terminal
      // reconnects.
      this.#options.log.warn({ err: error, ip: this.remoteAddress }, 'could not receive attachments');
      this.end('failed');
    }
    if (this.#session.isAccepted) clearTimeout(this.#loginTimer);
    if (this.#isDraining) this.drain();
    // Reads on after the end of the connection. Unread data would cause a reset, which could discard responses already
    // sent.
    if (!this.#socket.destroyed) this.#socket.resume();
  }
}
