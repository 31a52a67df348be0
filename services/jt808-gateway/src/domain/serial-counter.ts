/** Counts the header serials sent to one terminal. Skips serials of commands that await a response when it wraps. */
export class SerialCounter {
  #next: number;
  #awaited: Map<number, number> | undefined;

  constructor(first: number) {
    this.#next = first & 0xffff;
  }

  /** Next serial to be issued. */
  get peek(): number {
    return this.#next;
  }

  nextSerial(): number {
    let serial = this.#next;
    if (this.#awaited !== undefined) while (this.#awaited.has(serial)) serial = (serial + 1) & 0xffff;
    this.#next = (serial + 1) & 0xffff;
    return serial;
  }

  /** Reserves consecutive serials for the parts of one message and returns the first. */
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

  /** Excludes a serial until `release` has been called once for each `reserve`. */
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

  /** Advances the counter to the value of an earlier session. */
  advanceTo(serial: number): void {
    this.#next = serial & 0xffff;
  }
}
