/** How a terminal takes what the platform asks. `normal` is a good terminal. */
export type Behaviour =
  | { kind: 'normal' }
  /**
   * Ignores everything; wakes `wakeAfterMs` after the first 0x8201 or 0x8204, or at the n-th of them. What came meanwhile is lost, or with `catchesUp`
   * waits in its modem and is answered once it is awake.
   */
  | { kind: 'sleeping'; wakeAfterMs?: number; wakeAfterTries?: number; catchesUp?: boolean }
  /** Answers after a while; beyond the platform's time-out that is a late answer. */
  | { kind: 'slow'; delayMs: number }
  /** Answers 0x0001 with a result other than success, and does nothing. */
  | { kind: 'refusing'; result: 1 | 2 | 3 }
  /** Does nothing and says nothing. */
  | { kind: 'silent' }
  /** Does what it is told but never answers. */
  | { kind: 'mute' }
  | { kind: 'twice'; gapMs?: number }
  /** Answers with a serial that nobody has asked with. */
  | { kind: 'wrongSerial'; offset?: number }
  | { kind: 'garbage'; form: GarbageForm }
  /** Drops the connection instead of answering, right after it, or in the middle of it; comes back by its back-off. */
  | { kind: 'disconnecting'; when: 'before' | 'after' | 'midFrame' }
  /** Leaves everything the platform sends in the socket. Only for the whole terminal. */
  | { kind: 'neverReading' }
  /** As if the radio had gone: nothing is read, nothing sent, and no end of the connection. Only for the whole terminal. */
  | { kind: 'halfOpen' };

/**
 * Ways to answer with something unreadable: `badChecksum`; `noise` (bytes that are no frame); `halfGlued` (half a frame, then a whole other
 * one); `cutBody` (a right frame whose body ends too early).
 */
export type GarbageForm = 'badChecksum' | 'noise' | 'halfGlued' | 'cutBody';

const normalBehaviour: Behaviour = { kind: 'normal' };

/** Behaviour of a whole terminal and, stronger, of single message ids; can be changed at any time. */
export class BehaviourTable {
  #general: Behaviour = normalBehaviour;
  readonly #byMessage = new Map<number, Behaviour>();

  /** The whole terminal's behaviour. */
  get general(): Behaviour {
    return this.#general;
  }

  /** Sets the whole terminal's behaviour, or that for one message id. */
  set(behaviour: Behaviour, messageId?: number): void {
    const isWholeTerminalOnly = ['sleeping', 'neverReading', 'halfOpen'].includes(behaviour.kind);
    if (messageId !== undefined && isWholeTerminalOnly) {
      throw new RangeError(`${behaviour.kind} is a behaviour of the whole terminal, not of one message`);
    }
    if (messageId === undefined) this.#general = behaviour;
    else this.#byMessage.set(messageId, behaviour);
  }

  /** Back to a good terminal, for one message id or altogether. */
  clear(messageId?: number): void {
    if (messageId !== undefined) {
      this.#byMessage.delete(messageId);
      return;
    }
    this.#general = normalBehaviour;
    this.#byMessage.clear();
  }

  /** What counts for a message id. */
  get(messageId: number): Behaviour {
    return this.#byMessage.get(messageId) ?? this.#general;
  }
}

/** Messages that wake a sleeping terminal: location query and link detection. */
export const wakingMessageIds: ReadonlySet<number> = new Set([0x8201, 0x8204]);

/** Decides when a sleeping terminal wakes. */
export class Sleep {
  readonly #wakeAfterTries: number;
  #tries = 0;

  constructor(behaviour: { wakeAfterMs?: number; wakeAfterTries?: number }) {
    // Without any limit given, the third knock wakes.
    const defaultTries = behaviour.wakeAfterMs === undefined ? 3 : Number.POSITIVE_INFINITY;
    this.#wakeAfterTries = behaviour.wakeAfterTries ?? defaultTries;
  }

  /** Takes one message: `awake` when the terminal is awake for it, `firstTry` when its time to wake begins to run. */
  tryWake(messageId: number): 'asleep' | 'firstTry' | 'awake' {
    if (!wakingMessageIds.has(messageId)) return 'asleep';
    this.#tries += 1;
    if (this.#tries >= this.#wakeAfterTries) return 'awake';
    return this.#tries === 1 ? 'firstTry' : 'asleep';
  }
}

/** Changes the check byte of a frame without making or breaking an escape. */
export function corruptChecksum(frame: Buffer): Buffer {
  const corrupted = Buffer.from(frame);
  const at = corrupted.length - 2;
  const check = corrupted[at] ?? 0;
  // After an escape the last byte is 01 or 02: exchanging the two is another valid escape.
  const isEscaped = corrupted[at - 1] === 0x7d;
  corrupted[at] = isEscaped ? check ^ 0x03 : check ^ ((check ^ 0x01) >= 0x7d && (check ^ 0x01) <= 0x7e ? 0x04 : 0x01);
  return corrupted;
}

/** Bytes that a broken terminal sends instead of `frame`; `other` is a whole frame of some other message. */
export function corruptFrame(form: Exclude<GarbageForm, 'cutBody'>, frame: Buffer, other: Buffer): Buffer {
  if (form === 'badChecksum') return corruptChecksum(frame);
  if (form === 'halfGlued') return Buffer.concat([frame.subarray(0, Math.ceil(frame.length / 2)), other]);
  return Buffer.from('(ERR,58,no route to host)\r\n0123456789', 'latin1');
}
