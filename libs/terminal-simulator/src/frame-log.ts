import { pushBounded } from './media/stream-record.ts';

/** One frame as on the wire; each part of a split message is a frame. */
export interface FrameRecord {
  direction: 'in' | 'out';
  messageId: number;
  serial: number;
  body: Buffer;
  subpackage: { total: number; no: number } | null;
  /** Milliseconds since 1970. */
  atMs: number;
  /** Number of the terminal's connection, counted up. */
  connection: number;
}

/** A whole message from the platform, joined if it arrived in parts. */
export interface PlatformMessage {
  messageId: number;
  /** Serial that a response must repeat: that of the frame, or of part 1. */
  serial: number;
  body: Buffer;
  atMs: number;
}

/** Thrown when an awaited event did not occur in time. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
}

interface Waiter {
  messageId: number;
  predicate: (message: PlatformMessage) => boolean;
  resolve: (message: PlatformMessage) => void;
}

/** Stores frames in both directions, and delivers each platform message to one waiter. */
export class FrameLog {
  readonly frames: FrameRecord[] = [];
  readonly #limit: number;
  readonly #unclaimed: PlatformMessage[] = [];
  #waiters: Waiter[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Records one frame. */
  addFrame(record: FrameRecord): void {
    pushBounded(this.frames, record, this.#limit);
  }

  /** Records one whole message from the platform. */
  addMessage(message: PlatformMessage): void {
    const waiter = this.#waiters.find((one) => one.messageId === message.messageId && one.predicate(message));
    if (waiter === undefined) {
      pushBounded(this.#unclaimed, message, this.#limit);
      return;
    }
    this.#waiters = this.#waiters.filter((candidate) => candidate !== waiter);
    waiter.resolve(message);
  }

  /** Returns the frames of one direction and message id. */
  filter(direction: 'in' | 'out', messageId: number): FrameRecord[] {
    return this.frames.filter((frame) => frame.direction === direction && frame.messageId === messageId);
  }

  /** Returns the oldest matching message that no earlier call returned, or waits for the next one. */
  waitForMessage(
    messageId: number,
    predicate: (message: PlatformMessage) => boolean,
    timeoutMs: number,
  ): Promise<PlatformMessage> {
    const index = this.#unclaimed.findIndex((message) => message.messageId === messageId && predicate(message));
    const [unclaimed] = index === -1 ? [] : this.#unclaimed.splice(index, 1);
    if (unclaimed !== undefined) return Promise.resolve(unclaimed);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiters = this.#waiters.filter((candidate) => candidate !== waiter);
        reject(new WaitTimeoutError(`no 0x${messageId.toString(16).padStart(4, '0')} received within ${timeoutMs} ms`));
      }, timeoutMs);
      const waiter: Waiter = {
        messageId,
        predicate,
        resolve: (message) => {
          clearTimeout(timer);
          resolve(message);
        },
      };
      this.#waiters.push(waiter);
    });
  }
}
