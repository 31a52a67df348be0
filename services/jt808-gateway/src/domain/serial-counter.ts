/**
 * Header serials of what is sent to one terminal. Serials whose answers are awaited are not given out again when the counter wraps.
 */
export class SerialCounter {
  #next: number;
  #awaited: Map<number, number> | undefined;

  constructor(first: number) {
    this.#next = first & 0xffff;
  }

  /** The serial that would be given out next. */
  get peek(): number {
    return this.#next;
  }

  nextSerial(): number {
    let serial = this.#next;
    if (this.#awaited !== undefined) while (this.#awaited.has(serial)) serial = (serial + 1) & 0xffff;
    this.#next = (serial + 1) & 0xffff;
    return serial;
  }

  /** Consecutive serials for the parts of one message: the first of them. */
  nextSerialRange(count: number): number {
    let first = this.nextSerial();
    for (let length = 1; length < count; ) {
      const serial = this.nextSerial();
      if (serial === ((first + length) & 0xffff)) length += 1;
      else {
        first = serial;
        length = 1;
      }
    }
    return first;
  }

  /** Keeps a serial from being given out; to be called as often as `release`. */
  reserve(serial: number): void {
    this.#awaited ??= new Map();
    this.#awaited.set(serial, (this.#awaited.get(serial) ?? 0) + 1);
  }

  release(serial: number): void {
    const count = this.#awaited?.get(serial) ?? 0;
    if (count > 1) this.#awaited?.set(serial, count - 1);
    else this.#awaited?.delete(serial);
    if (this.#awaited?.size === 0) this.#awaited = undefined;
  }

  /** Takes the counter forward to what is known from an earlier session. */
  advanceTo(serial: number): void {
    this.#next = serial & 0xffff;
  }
}
