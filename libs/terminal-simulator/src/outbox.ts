import { addressOf, type Edition, encodeFrame, MAX_BODY_BYTES, type TerminalAddress } from '@fleet/jt808';
import type { TerminalMessage } from './terminal-options.ts';

/** One encoded frame of a message. */
export interface OutgoingFrame {
  messageId: number;
  serial: number;
  body: Buffer;
  subpackage: { total: number; no: number } | null;
  wire: Buffer;
}

/** Split messages that can still be asked for again. */
const REMEMBERED_MESSAGES = 8;

/** Gives messages their serials, splits long ones, and remembers the parts for 0x8003 and 0x8800. */
export class Outbox {
  readonly #address: TerminalAddress;
  /** One counter for the terminal's life: an answer must be told apart from one of an earlier connection. */
  #serial = 0;
  readonly #split: OutgoingFrame[][] = [];

  constructor(phone: string, edition: Edition) {
    this.#address = addressOf(phone, edition);
  }

  /** Serial that the next frame will have. */
  get nextSerial(): number {
    return this.#serial;
  }

  /** Frames of one message, ready for the wire. */
  encode(message: TerminalMessage): OutgoingFrame[] {
    const { messageId, body } = message;
    const total = Math.max(1, Math.ceil(body.length / MAX_BODY_BYTES));
    const frames: OutgoingFrame[] = [];
    for (let no = 1; no <= total; no += 1) {
      const part = body.subarray((no - 1) * MAX_BODY_BYTES, no * MAX_BODY_BYTES);
      frames.push(this.#frame(messageId, part, total === 1 ? null : { total, no }));
    }
    if (total > 1) {
      this.#split.push(frames);
      if (this.#split.length > REMEMBERED_MESSAGES) this.#split.shift();
    }
    return frames;
  }

  /** Parts of an earlier message with their old serials (0x8003: JT/T 808-2013 table 6); empty when it is forgotten. */
  again(firstSerial: number, partNumbers: readonly number[]): OutgoingFrame[] {
    const message = this.#split.findLast(([first]) => first?.serial === firstSerial);
    return message?.filter((frame) => partNumbers.includes(frame.subpackage?.no ?? 0)) ?? [];
  }

  /** The same for the latest split message of an id (0x8800). */
  latest(messageId: number, partNumbers: readonly number[]): OutgoingFrame[] {
    const message = this.#split.findLast(([first]) => first?.messageId === messageId);
    return message?.filter((frame) => partNumbers.includes(frame.subpackage?.no ?? 0)) ?? [];
  }

  #frame(messageId: number, body: Buffer, subpackage: OutgoingFrame['subpackage']): OutgoingFrame {
    const serial = this.#serial;
    this.#serial = (serial + 1) & 0xffff;
    return {
      messageId,
      serial,
      body,
      subpackage,
      wire: encodeFrame({ messageId, phone: this.#address, serial, body, subpackage }),
    };
  }
}
