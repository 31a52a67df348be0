import type { OutgoingFrame } from './message-encoder.ts';
import type { TerminalMessage } from './terminal-options.ts';

interface QueueEntry {
  message: TerminalMessage;
  serials: number[];
  lastSentMs: number;
}

/** Limit of the queue, which would otherwise grow without bound with a platform that never acknowledges. */
const maxEntries = 200;

/** Queues unsolicited messages, which are sent until 0x8001 arrives, over as many connections as needed. */
export class ReliableQueue {
  readonly #entries: QueueEntry[] = [];
  readonly #transmit: (message: TerminalMessage) => readonly OutgoingFrame[];
  readonly #replyTimeoutMs: number;

  constructor(transmit: (message: TerminalMessage) => readonly OutgoingFrame[], replyTimeoutMs: number) {
    this.#transmit = transmit;
    this.#replyTimeoutMs = replyTimeoutMs;
  }

  /** Number of messages without an acknowledgement. */
  get size(): number {
    return this.#entries.length;
  }

  /** Adds a message and sends it if the terminal is online. */
  add(message: TerminalMessage, isOnline: boolean): void {
    const entry: QueueEntry = { message, serials: [], lastSentMs: Number.NEGATIVE_INFINITY };
    if (this.#entries.length >= maxEntries) this.#entries.shift();
    this.#entries.push(entry);
    if (isOnline) this.#send(entry);
  }

  /** Processes 0x8001 with any result: a refusal is a response too. */
  acknowledge(serial: number, messageId: number): void {
    const index = this.#entries.findIndex(
      (entry) => entry.message.messageId === messageId && entry.serials.includes(serial),
    );
    if (index !== -1) this.#entries.splice(index, 1);
  }

  /**
   * Resends messages without an acknowledgement for longer than the timeout; with `all`, also those sent recently (over
   * an earlier connection).
   */
  resend(all: boolean): void {
    const before = all ? Number.POSITIVE_INFINITY : performance.now() - this.#replyTimeoutMs;
    for (const entry of this.#entries) if (entry.lastSentMs <= before) this.#send(entry);
  }

  #send(entry: QueueEntry): void {
    entry.lastSentMs = performance.now();
    const last = this.#transmit(entry.message).at(-1);
    if (last !== undefined) entry.serials.push(last.serial);
  }
}
