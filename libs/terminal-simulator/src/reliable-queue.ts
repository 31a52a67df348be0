import type { OutgoingFrame } from './message-encoder.ts';
import type { TerminalMessage } from './terminal-options.ts';

interface QueueEntry {
  message: TerminalMessage;
  serials: number[];
  lastSentMs: number;
}

/** Messages that are kept forever by a platform that never acknowledges would grow without end. */
const maxEntries = 200;

/** Messages of the terminal's own that are sent until 0x8001 comes, over as many connections as it takes. */
export class ReliableQueue {
  readonly #entries: QueueEntry[] = [];
  readonly #transmit: (message: TerminalMessage) => readonly OutgoingFrame[];
  readonly #replyTimeoutMs: number;

  constructor(transmit: (message: TerminalMessage) => readonly OutgoingFrame[], replyTimeoutMs: number) {
    this.#transmit = transmit;
    this.#replyTimeoutMs = replyTimeoutMs;
  }

  /** Messages that wait for their acknowledgement. */
  get size(): number {
    return this.#entries.length;
  }

  /** Takes a message and, if there is a connection, sends it. */
  add(message: TerminalMessage, isOnline: boolean): void {
    const entry: QueueEntry = { message, serials: [], lastSentMs: Number.NEGATIVE_INFINITY };
    if (this.#entries.length >= maxEntries) this.#entries.shift();
    this.#entries.push(entry);
    if (isOnline) this.#send(entry);
  }

  /** Takes 0x8001 with any result: a refusal is an answer too. */
  acknowledge(serial: number, messageId: number): void {
    const index = this.#entries.findIndex(
      (entry) => entry.message.messageId === messageId && entry.serials.includes(serial),
    );
    if (index !== -1) this.#entries.splice(index, 1);
  }

  /** Sends all that has waited longer than the time-out; `all` also what was sent just before (over an earlier connection). */
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
