import { pushBounded } from './media/stream-record.ts';

/** One frame as it stood on the wire; parts of a split message are frames of their own. */
export interface FrameRecord {
  direction: 'in' | 'out';
  messageId: number;
  serial: number;
  body: Buffer;
  subpackage: { total: number; no: number } | null;
  /** Milliseconds since 1970. */
  atMs: number;
  /** Counts up with every connection of the terminal. */
  connection: number;
}

/** A whole message from the platform, joined when it came in parts. */
export interface PlatformMessage {
  messageId: number;
  /** What an answer must repeat: the serial of the frame, or of part 1. */
  serial: number;
  body: Buffer;
  atMs: number;
}

/** Nothing that was waited for came in time. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
}

interface Waiter {
  messageId: number;
  predicate: (message: PlatformMessage) => boolean;
  resolve: (message: PlatformMessage) => void;
}

/** Remembers frames in both directions, and hands each platform message once to whoever waits for it. */
export class FrameLog {
  readonly frames: FrameRecord[] = [];
  readonly #limit: number;
  readonly #unclaimed: PlatformMessage[] = [];
  #waiters: Waiter[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Notes one frame. */
  addFrame(record: FrameRecord): void {
    pushBounded(this.frames, record, this.#limit);
  }

  /** Notes one whole message from the platform. */
  addMessage(message: PlatformMessage): void {
    const waiter = this.#waiters.find((one) => one.messageId === message.messageId && one.predicate(message));
    if (waiter === undefined) {
      pushBounded(this.#unclaimed, message, this.#limit);
      return;
    }
    this.#waiters = this.#waiters.filter((candidate) => candidate !== waiter);
    waiter.resolve(message);
  }

  /** Frames of one direction and message id. */
  filter(direction: 'in' | 'out', messageId: number): FrameRecord[] {
    return this.frames.filter((frame) => frame.direction === direction && frame.messageId === messageId);
  }

  /** The oldest fitting message that no earlier call was given, or the next one to come. */
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
        reject(new WaitTimeoutError(`no 0x${messageId.toString(16).padStart(4, '0')} within ${timeoutMs} ms`));
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
