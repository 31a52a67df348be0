import type { Frame, PartOutcome, Reassembler } from '@fleet/jt808';
import type { Session } from '../domain/device.ts';

/** Holds the split messages of all terminals, from their first part until JetStream has stored them. */
export class SplitMessages {
  readonly #reassembler: Reassembler;
  /** Keys of joined messages that wait for JetStream. */
  readonly #inFlight = new Set<string>();

  constructor(reassembler: Reassembler) {
    this.#reassembler = reassembler;
  }

  /** Adds one part. */
  push({ device }: Session, frame: Frame): PartOutcome {
    return this.#reassembler.push(device.imei, frame);
  }

  /** Returns true while the message of a part waits for JetStream. */
  isInFlight(session: Session, frame: Frame): boolean {
    return this.#inFlight.has(createKey(session, frame.messageId, frame.subpackage?.total ?? 0));
  }

  /**
   * Tracks a split message until it is stored. Returns the callback for the result, or undefined for a message in one
   * frame.
   */
  trackUntilStored(session: Session, frame: Frame): ((isStored: boolean) => void) | undefined {
    if (frame.subpackage === null) return undefined;
    const key = createKey(session, frame.messageId, frame.subpackage.total);
    this.#inFlight.add(key);
    return (isStored) => {
      this.#inFlight.delete(key);
      if (!isStored) this.allowRetransmission(session, frame);
    };
  }

  /** Lets the terminal resend a split message that was not stored, instead of treating it as a duplicate. */
  allowRetransmission({ device }: Session, { messageId, subpackage }: Frame): void {
    if (subpackage !== null) this.#reassembler.allowRetransmission(device.imei, { messageId, total: subpackage.total });
  }
}

const createKey = ({ device }: Session, messageId: number, total: number): string =>
  `${device.imei}/${messageId}/${total}`;
