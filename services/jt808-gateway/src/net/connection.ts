import type { Socket } from 'node:net';
import {
  type Edition,
  type Frame,
  FrameSplitter,
  generalReplyMaxBytes,
  type TerminalAddress,
  writeGeneralReply,
} from '@fleet/jt808';
import type { Session } from '../domain/device.ts';
import { SerialCounter } from '../domain/serial-counter.ts';
import { GarbageMeter } from './garbage-meter.ts';

/** Options shared by all connections of a listener. */
export interface ConnectionOptions {
  readonly writeBufferLimitBytes: number;
  readonly ignoreChecksum: boolean;
  readonly trustActualLength: boolean;
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  readonly onClose: (connection: Connection) => void;
  /** Called before a connection that sends only garbage is closed. */
  readonly onGarbage: (connection: Connection) => void;
  readonly onError: (connection: Connection, error: unknown) => void;
}

/** Reason why this side closed a connection. */
export type CloseReason =
  | 'peer'
  | 'slowReader'
  | 'loginTimeout'
  | 'idleTimeout'
  | 'replaced'
  | 'fenced'
  | 'tooManyAttempts'
  | 'addressLimit'
  | 'garbage'
  | 'drain'
  | 'stop'
  | 'error';

/**
 * Maximum number of bytes of one connection per event-loop iteration. Slicing a flood lets other connections proceed.
 */
const sliceBytes = 16_384;
/** Number of unconfirmed JetStream messages above which a connection is not read. */
const maxPendingAcks = 512;
const pendingAcksPollMs = 10;

const scratch = Buffer.allocUnsafeSlow(generalReplyMaxBytes);

/**
 * Manages one TCP connection of a terminal, with bounded buffers in both directions. When idle, it uses little more
 * memory than its socket.
 */
export class Connection {
  readonly socket: Socket;
  readonly remoteAddress: string;
  /** Time since which the connection has had no session. */
  loginSinceMs = performance.now();
  /** Monotonic time of the last read. */
  readAtMs = this.loginSinceMs;
  /** Wall-clock time of the last read. */
  receivedAtMs = Date.now();
  /** Set once the terminal is authenticated. */
  session: Session | null = null;
  /** Serials of frames sent before the session. */
  readonly serials = new SerialCounter(0);
  failedLogins = 0;
  /** The session began without a stored registration, under UNREGISTERED_TERMINALS. */
  isUnregistered = false;
  /** The terminal may not report without authentication; known after its first report. */
  mustAuthenticate = false;
  /** Edition detected from a registration on this connection. */
  registeredEdition: Edition | null = null;
  /** Body of that registration, until it is published. */
  registration: Buffer | null = null;
  /** Number of acknowledgements that wait for JetStream. */
  pendingAcks = 0;
  /** Number of refused frames. */
  refusedFrameCount = 0;
  closeReason: CloseReason = 'peer';
  readonly splitter: FrameSplitter;
  readonly #options: ConnectionOptions;
  readonly #onFrame = (frame: Frame): void => this.#handleFrame(frame);
  #deferred: Frame[] | null = null;
  #outbox: Buffer[] | null = null;
  #isReading = false;
  /** Unhandled rest of a large read; null while reads are handled immediately. */
  #backlog: Buffer | null = null;
  #frameCount = 0;
  readonly #garbage = new GarbageMeter();

  constructor(socket: Socket, options: ConnectionOptions) {
    this.socket = socket;
    this.remoteAddress = socket.remoteAddress ?? '';
    this.#options = options;
    this.splitter = new FrameSplitter(options);
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.on('error', () => {
      // Many terminals disconnect with a reset; the close event follows.
      this.closeReason = this.closeReason === 'peer' ? 'error' : this.closeReason;
    });
    socket.on('close', () => options.onClose(this));
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends whole frames. Frames sent during a read leave in one write at its end. */
  send(bytes: Buffer): void {
    if (this.#isReading) {
      this.#outbox ??= [];
      this.#outbox.push(bytes);
    } else this.#write(bytes);
  }

  /** Sends a platform general response, 0x8001. */
  reply(address: TerminalAddress, replySerial: number, replyId: number, result: number): void {
    const end = writeGeneralReply(scratch, 0, address, this.nextSerial(), replySerial, replyId, result);
    this.send(Buffer.from(scratch.subarray(0, end)));
  }

  nextSerial(): number {
    return (this.session?.device.serials ?? this.serials).nextSerial();
  }

  /** Defers further frames until `resume` and stops reading, which bounds the deferred frames to one read. */
  pause(): void {
    this.#deferred ??= [];
    this.socket.pause();
  }

  /** Handles the deferred frames in order and continues reading. */
  resume(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = null;
    for (let frame = deferred.shift(); frame !== undefined; frame = deferred.shift()) {
      this.#handleFrame(frame);
      // Cast, as narrowing does not see that handling a frame may pause again.
      const deferredAgain = this.#deferred as Frame[] | null;
      if (deferredAgain !== null) {
        deferredAgain.push(...deferred);
        return;
      }
    }
    this.#resumeSocket();
  }

  /** Closes immediately; unsent data is lost. */
  close(reason: CloseReason): void {
    if (!this.isOpen) return;
    this.closeReason = reason;
    this.socket.destroy();
  }

  /** Closes once everything has been sent, or after a second. */
  end(reason: CloseReason): void {
    if (!this.isOpen) return;
    this.closeReason = reason;
    this.socket.end();
    const timer = setTimeout(() => this.socket.destroy(), 1_000);
    timer.unref();
  }

  #onData(chunk: Buffer): void {
    this.readAtMs = performance.now();
    this.receivedAtMs = Date.now();
    const isSmall = chunk.length <= sliceBytes && this.pendingAcks <= maxPendingAcks;
    if (isSmall) this.#handleChunk(chunk);
    if (isSmall && this.#garbage.delayMs === 0) return;
    this.socket.pause();
    this.#backlog = isSmall ? chunk.subarray(chunk.length) : chunk;
    if (isSmall) this.#scheduleBacklog(this.#garbage.delayMs);
    else this.#handleBacklog();
  }

  /** Handles one slice of a large read, then yields to other connections before the next. */
  #handleBacklog(): void {
    const backlog = this.#backlog;
    if (backlog === null || !this.isOpen) return;
    if (this.pendingAcks > maxPendingAcks) {
      this.#scheduleBacklog(pendingAcksPollMs);
      return;
    }
    if (backlog.length === 0) {
      this.#backlog = null;
      this.#resumeSocket();
      return;
    }
    this.#handleChunk(backlog.subarray(0, sliceBytes));
    this.#backlog = backlog.subarray(sliceBytes);
    this.#scheduleBacklog(this.#garbage.delayMs);
  }

  #scheduleBacklog(delayMs: number): void {
    if (delayMs === 0) setImmediate(() => this.#handleBacklog());
    else setTimeout(() => this.#handleBacklog(), delayMs);
  }

  #resumeSocket(): void {
    if (this.isOpen && this.#deferred === null && this.#backlog === null) this.socket.resume();
  }

  #handleChunk(chunk: Buffer): void {
    this.#isReading = true;
    this.splitter.push(chunk, this.#onFrame);
    this.#isReading = false;
    this.#flushOutbox();
    this.#garbage.count(chunk.length, this.#frameCount - this.refusedFrameCount);
    if (this.#garbage.isExceeded && this.isOpen) {
      this.#options.onGarbage(this);
      this.close('garbage');
    }
  }

  #flushOutbox(): void {
    const outbox = this.#outbox;
    if (outbox === null) return;
    this.#outbox = null;
    this.#write(outbox.length === 1 ? (outbox[0] as Buffer) : Buffer.concat(outbox));
  }

  #handleFrame(frame: Frame): void {
    this.#frameCount += 1;
    if (this.#deferred !== null) {
      this.#deferred.push(frame);
      return;
    }
    try {
      this.#options.onFrame(this, frame);
    } catch (error) {
      // A bug in a handler costs the frame, never the connection or the process.
      this.#options.onError(this, error);
    }
  }

  #write(bytes: Buffer): void {
    const { socket } = this;
    if (!socket.writable) return;
    const queued = socket.writableLength;
    if (queued + bytes.length > this.#options.writeBufferLimitBytes) this.close('slowReader');
    // Copied, as a few bytes queued on a slow socket would retain the whole buffer that contains them.
    else socket.write(queued === 0 ? bytes : copyBuffer(bytes));
  }
}

function copyBuffer(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
