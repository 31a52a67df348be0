import {
  createTerminalAddress,
  type Edition,
  encodeFrame,
  maxFrameBodyBytes,
  type TerminalAddress,
} from '@fleet/jt808';
import type { TerminalMessage } from './terminal-options.ts';

/** One encoded frame of a message. */
export interface OutgoingFrame {
  messageId: number;
  serial: number;
  body: Buffer;
  subpackage: { total: number; no: number } | null;
  wire: Buffer;
}

/** Number of split messages whose parts can be requested again. */
const maxSplitMessages = 8;

/** Assigns serials to messages, splits long ones, and stores the parts for 0x8003 and 0x8800. */
export class MessageEncoder {
  readonly #address: TerminalAddress;
  /** One counter for all connections, so that a response is distinguishable from one of an earlier connection. */
  #serial = 0;
  readonly #splitMessages: OutgoingFrame[][] = [];

  constructor(phone: string, edition: Edition) {
    this.#address = createTerminalAddress(phone, edition);
  }

  /** Serial of the next frame. */
  get nextSerial(): number {
    return this.#serial;
  }

  /** Encodes one message to frames, ready for the wire. */
  encode(message: TerminalMessage): OutgoingFrame[] {
    const { messageId, body } = message;
    const total = Math.max(1, Math.ceil(body.length / maxFrameBodyBytes));
    const frames: OutgoingFrame[] = [];
    for (let no = 1; no <= total; no += 1) {
      const part = body.subarray((no - 1) * maxFrameBodyBytes, no * maxFrameBodyBytes);
      frames.push(this.#createFrame(messageId, part, total === 1 ? null : { total, no }));
    }
    if (total > 1) {
      this.#splitMessages.push(frames);
      if (this.#splitMessages.length > maxSplitMessages) this.#splitMessages.shift();
    }
    return frames;
  }

  /**
   * Returns parts of an earlier message with their old serials (0x8003: JT/T 808-2013 table 6); empty if they were
   * evicted.
   */
  findParts(firstSerial: number, partNumbers: readonly number[]): OutgoingFrame[] {
    const message = this.#splitMessages.findLast(([first]) => first?.serial === firstSerial);
    return message?.filter((frame) => partNumbers.includes(frame.subpackage?.no ?? 0)) ?? [];
  }

  /** Returns parts of the latest split message of an id (0x8800). */
  findLatestParts(messageId: number, partNumbers: readonly number[]): OutgoingFrame[] {
    const message = this.#splitMessages.findLast(([first]) => first?.messageId === messageId);
    return message?.filter((frame) => partNumbers.includes(frame.subpackage?.no ?? 0)) ?? [];
  }

  #createFrame(messageId: number, body: Buffer, subpackage: OutgoingFrame['subpackage']): OutgoingFrame {
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
