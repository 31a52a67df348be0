import type { Frame } from '@fleet/jt808';
import type { PlatformMessage } from './frame-log.ts';

interface PendingMessage {
  total: number;
  firstSerial: number;
  parts: Map<number, Buffer>;
}

/**
 * Joins messages that the platform sends in parts. Allows one open message per id, since terminals have no more memory
 * either.
 */
export class SubpackageReassembler {
  readonly #pending = new Map<number, PendingMessage>();

  /** Adds a frame; returns the whole message once it is complete. */
  push(frame: Frame, atMs: number): PlatformMessage | null {
    const { messageId, serial, subpackage } = frame;
    if (subpackage === null) return { messageId, serial, body: Buffer.from(frame.body), atMs };
    let pending = this.#pending.get(messageId);
    if (pending === undefined || pending.total !== subpackage.total) {
      pending = { total: subpackage.total, firstSerial: serial, parts: new Map() };
      this.#pending.set(messageId, pending);
    }
    if (subpackage.no === 1) pending.firstSerial = serial;
    pending.parts.set(subpackage.no, Buffer.from(frame.body));
    if (pending.parts.size < pending.total) return null;
    this.#pending.delete(messageId);
    const parts = [...pending.parts].toSorted(([a], [b]) => a - b).map(([, part]) => part);
    return { messageId, serial: pending.firstSerial, body: Buffer.concat(parts), atMs };
  }
}
