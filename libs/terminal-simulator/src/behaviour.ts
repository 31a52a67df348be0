/** Response of a terminal to the platform's messages. `normal` is a conforming terminal. */
export type Behaviour =
  | { kind: 'normal' }
  /**
   * Ignores everything. Wakes `wakeAfterMs` after the first 0x8201 or 0x8204, or at the n-th of them. Messages received
   * while asleep are lost; with `catchesUp` the modem queues them and the terminal responds once it is awake.
   */
  | { kind: 'sleeping'; wakeAfterMs?: number; wakeAfterTries?: number; catchesUp?: boolean }
  /** Responds after a delay; beyond the platform's timeout, that is a late response. */
  | { kind: 'slow'; delayMs: number }
  /** Responds with 0x0001 and a result other than success, and takes no action. */
  | { kind: 'refusing'; result: 1 | 2 | 3 }
  /** Takes no action and sends no response. */
  | { kind: 'silent' }
  /** Executes the command but never responds. */
  | { kind: 'mute' }
  | { kind: 'twice'; gapMs?: number }
  /** Responds with a serial that no request had. */
  | { kind: 'wrongSerial'; offset?: number }
  | { kind: 'garbage'; form: GarbageForm }
  /** Drops the connection before, right after or in the middle of the response; reconnects with its backoff. */
  | { kind: 'disconnecting'; when: 'before' | 'after' | 'midFrame' }
  /** Leaves all data from the platform in the socket. Only for the whole terminal. */
  | { kind: 'neverReading' }
  /**
   * Simulates a lost radio link: reads nothing, sends nothing and does not close the connection. Only for the whole
   * terminal.
   */
  | { kind: 'halfOpen' };

/**
 * Kinds of unreadable responses: `badChecksum`; `noise` (bytes that are not a frame); `halfGlued` (half a frame, then
 * another whole frame); `cutBody` (a valid frame whose body is truncated).
 */
export type GarbageForm = 'badChecksum' | 'noise' | 'halfGlued' | 'cutBody';

const normalBehaviour: Behaviour = { kind: 'normal' };

/**
 * Holds the behaviour of a whole terminal and, with precedence, of single message ids. It can be changed at any time.
 */
export class BehaviourTable {
  #general: Behaviour = normalBehaviour;
  readonly #byMessage = new Map<number, Behaviour>();

  /** Behaviour of the whole terminal. */
  get general(): Behaviour {
    return this.#general;
  }

  /** Sets the behaviour of the whole terminal, or of one message id. */
  set(behaviour: Behaviour, messageId?: number): void {
    const isWholeTerminalOnly = ['sleeping', 'neverReading', 'halfOpen'].includes(behaviour.kind);
    if (messageId !== undefined && isWholeTerminalOnly) {
      throw new RangeError(`${behaviour.kind} applies to the whole terminal, not to one message`);
    }
    if (messageId === undefined) this.#general = behaviour;
    else this.#byMessage.set(messageId, behaviour);
  }

  /** Restores the normal behaviour for one message id or for the whole terminal. */
  clear(messageId?: number): void {
    if (messageId !== undefined) {
      this.#byMessage.delete(messageId);
      return;
    }
    this.#general = normalBehaviour;
    this.#byMessage.clear();
  }

  /** Returns the behaviour that applies to a message id. */
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
    // Without a limit, the third attempt wakes the terminal.
    const defaultTries = behaviour.wakeAfterMs === undefined ? 3 : Number.POSITIVE_INFINITY;
    this.#wakeAfterTries = behaviour.wakeAfterTries ?? defaultTries;
  }

  /**
   * Processes one message. Returns `awake` if the terminal is awake for it, `firstTry` if its wake time starts to run.
   */
  tryWake(messageId: number): 'asleep' | 'firstTry' | 'awake' {
    if (!wakingMessageIds.has(messageId)) return 'asleep';
    this.#tries += 1;
    if (this.#tries >= this.#wakeAfterTries) return 'awake';
    return this.#tries === 1 ? 'firstTry' : 'asleep';
  }
}

/** Changes the check byte of a frame without creating or breaking an escape. */
export function corruptChecksum(frame: Buffer): Buffer {
  const corrupted = Buffer.from(frame);
  const at = corrupted.length - 2;
  const check = corrupted[at] ?? 0;
  // After an escape the last byte is 01 or 02; exchanging the two yields another valid escape.
  const isEscaped = corrupted[at - 1] === 0x7d;
  corrupted[at] = isEscaped ? check ^ 0x03 : check ^ ((check ^ 0x01) >= 0x7d && (check ^ 0x01) <= 0x7e ? 0x04 : 0x01);
  return corrupted;
}

/** Returns the bytes that a broken terminal sends instead of `frame`; `other` is a whole frame of another message. */
export function corruptFrame(form: Exclude<GarbageForm, 'cutBody'>, frame: Buffer, other: Buffer): Buffer {
  if (form === 'badChecksum') return corruptChecksum(frame);
  if (form === 'halfGlued') return Buffer.concat([frame.subarray(0, Math.ceil(frame.length / 2)), other]);
  return Buffer.from('(ERR,58,no route to host)\r\n0123456789', 'latin1');
}
