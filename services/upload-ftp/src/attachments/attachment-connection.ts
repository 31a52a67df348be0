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

export type CloseReason = 'peer' | 'error' | 'idle' | 'login' | 'slowReader' | 'addressLimit' | EndReason;

export interface AttachmentConnectionOptions extends AttachmentSessionDeps {
  readonly loginTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxPacketBytes: number;
  readonly onClose: (connection: AttachmentConnection) => void;
}

type SplitItem =
  | { readonly kind: 'frame'; readonly frame: Frame }
  | { readonly kind: 'data'; readonly packet: AttachmentPacket; readonly offset: number; readonly data: Buffer };

/** What a terminal that does not read may leave unread of our answers. */
const maxUnsentBytes = 64 * 1024;
const endTimeoutMs = 1_000;
/** Before anything is known of a terminal its connection costs little more than a frame. */
const scratch = Buffer.allocUnsafeSlow(generalReplyMaxBytes);

/** One connection of a terminal that sends attachments. A read is worked off before the next one: what the disk does not take stays at the terminal. */
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

  /** The socket has to allow half-open connections: what came before a FIN is still answered. */
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
      // A reset is how many terminals leave; the close event follows.
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

  /** Ends once nothing that was announced is missing. */
  drain(): void {
    this.#isDraining = true;
    if (!this.#session.hasMissingFiles) this.end('stop');
  }

  /** Ends at once; resolves when nothing is being written any more. */
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
      // A disk that is full, a broker that is away, or a defect of ours: this connection ends, and its terminal comes back.
      this.#options.log.warn({ err: error, ip: this.remoteAddress }, 'attachments could not be taken');
      this.end('failed');
    }
    if (this.#session.isAccepted) clearTimeout(this.#loginTimer);
    if (this.#isDraining) this.drain();
    // What comes behind the end is read, so that what was sent before is not lost with a reset.
    if (!this.#socket.destroyed) this.#socket.resume();
  }
}
