const windowMs = 10_000;
const maxMessages = 20;
const strikeWindowMs = 60_000;
const maxStrikes = 3;

/** Counts what a client sends: 20 messages in 10 seconds (platform-contract.md, section 16). What is too much or too large is a strike, and the third in a minute the end. */
export class MessageLimit {
  readonly #sentMs: number[] = [];
  #strikesMs: number[] = [];

  /** False for a message over the rate, which is then not counted. */
  take(nowMs: number): boolean {
    while (this.#sentMs[0] !== undefined && nowMs - this.#sentMs[0] >= windowMs) this.#sentMs.shift();
    if (this.#sentMs.length >= maxMessages) return false;
    this.#sentMs.push(nowMs);
    return true;
  }

  /** True for the strike that ends the connection. */
  strike(nowMs: number): boolean {
    this.#strikesMs = [...this.#strikesMs.filter((atMs) => nowMs - atMs < strikeWindowMs), nowMs];
    return this.#strikesMs.length >= maxStrikes;
  }
}
