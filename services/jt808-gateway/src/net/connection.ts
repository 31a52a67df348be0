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

/** What all connections of a listener share. */
export interface ConnectionOptions {
  readonly writeBufferLimitBytes: number;
  readonly ignoreChecksum: boolean;
  readonly trustActualLength: boolean;
  readonly onFrame: (connection: Connection, frame: Frame) => void;
  readonly onClose: (connection: Connection) => void;
  /** Called before a connection is closed that sends nothing but garbage. */
  readonly onGarbage: (connection: Connection) => void;
  readonly onError: (connection: Connection, error: unknown) => void;
}

/** Why this side closed a connection. */
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

/** Most bytes of one connection in a turn of the event loop: a flood is read in slices, between which the others have their turns. */
const sliceBytes = 16_384;
/** With so many messages on their way to JetStream a connection is not read from. */
const maxPendingAcks = 512;
const pendingAcksPollMs = 10;

const scratch = Buffer.allocUnsafeSlow(generalReplyMaxBytes);

/** One TCP connection of a terminal: bytes in, frames out, bounded in both directions. Idle, it costs little more than its socket. */
export class Connection {
  readonly socket: Socket;
  readonly remoteAddress: string;
  /** Since when the connection has been without a session. */
  loginSinceMs = performance.now();
  /** Monotonic time of the last read. */
  readAtMs = this.loginSinceMs;
  /** Wall-clock time of the last read. */
  receivedAtMs = Date.now();
  /** Set once the terminal is authenticated. */
  session: Session | null = null;
  /** Serials of what is sent before that. */
  readonly serials = new SerialCounter(0);
  failedLogins = 0;
  /** The session began without a registration on record, by UNREGISTERED_TERMINALS. */
  isUnregistered = false;
  /** The terminal may not report without authentication; known after its first report. */
  mustAuthenticate = false;
  /** What a registration on this connection has shown. */
  registeredEdition: Edition | null = null;
  /** Body of that registration, until it is told of. */
  registration: Buffer | null = null;
  /** Acknowledgements that wait for JetStream. */
  pendingAcks = 0;
  /** Frames that were refused. */
  refusedFrameCount = 0;
  closeReason: CloseReason = 'peer';
  readonly splitter: FrameSplitter;
  readonly #options: ConnectionOptions;
  readonly #onFrame = (frame: Frame): void => this.#handleFrame(frame);
  #deferred: Frame[] | null = null;
  #outbox: Buffer[] | null = null;
  #isReading = false;
  /** What is left of a large read; null while reads are handled at once. */
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
      // A reset is how many terminals leave; the close event follows.
      this.closeReason = this.closeReason === 'peer' ? 'error' : this.closeReason;
    });
    socket.on('close', () => options.onClose(this));
  }

  get isOpen(): boolean {
    return !this.socket.destroyed;
  }

  /** Sends whole frames; during a read they are kept and leave as one write at its end. */
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

  /** Keeps further frames back until `release`, and stops reading, so that what is kept is bounded by one read. */
  pause(): void {
    this.#deferred ??= [];
    this.socket.pause();
  }

  /** Handles what was kept back, in order, and reads on. */
  resume(): void {
    const deferred = this.#deferred ?? [];
    this.#deferred = null;
    for (let frame = deferred.shift(); frame !== undefined; frame = deferred.shift()) {
      this.#handleFrame(frame);
      // Cast: narrowing does not see that handling a frame may hold again.
      const deferredAgain = this.#deferred as Frame[] | null;
      if (deferredAgain !== null) {
        deferredAgain.push(...deferred);
        return;
      }
    }
    this.#resumeSocket();
  }

  /** Closes at once; what was not sent is lost. */
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

  /** Handles a slice of a large read, lets other connections have a turn, and goes on. */
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
      // A defect of ours costs the frame, never the connection or the process.
      this.#options.onError(this, error);
    }
  }

  #write(bytes: Buffer): void {
    const { socket } = this;
    if (!socket.writable) return;
    const queued = socket.writableLength;
    if (queued + bytes.length > this.#options.writeBufferLimitBytes) this.close('slowReader');
    // In the queue of a slow socket a few bytes would keep the whole buffer that they are a part of in memory.
    else socket.write(queued === 0 ? bytes : copyBuffer(bytes));
  }
}

function copyBuffer(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}
