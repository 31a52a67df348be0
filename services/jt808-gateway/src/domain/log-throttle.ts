/** Limits log lines per second, so a misbehaving terminal cannot fill the log. */
export class LogThrottle {
  readonly #perSecond: number;
  #windowAtMs = 0;
  #count = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  tryAcquire(): boolean {
    const now = performance.now();
    if (now - this.#windowAtMs >= 1_000) {
      this.#windowAtMs = now;
      this.#count = 0;
    }
    this.#count += 1;
    return this.#count <= this.#perSecond;
  }
}
