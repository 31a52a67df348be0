const windowMs = 10_000;
const maxMessages = 20;
const strikeWindowMs = 60_000;
const maxStrikes = 3;

/**
 * Limits a client to 20 messages in 10 seconds. A message above the rate or size is a strike; the third strike in a
 * minute closes the connection.
 */
export class MessageLimit {
  readonly #sentMs: number[] = [];
  #strikesMs: number[] = [];

  /** Returns false for a message above the rate, which is then not counted. */
  take(nowMs: number): boolean {
    while (this.#sentMs[0] !== undefined && nowMs - this.#sentMs[0] >= windowMs) this.#sentMs.shift();
    if (this.#sentMs.length >= maxMessages) return false;
    this.#sentMs.push(nowMs);
    return true;
  }

  /** Returns true for the strike that closes the connection. */
  strike(nowMs: number): boolean {
    this.#strikesMs = [...this.#strikesMs.filter((atMs) => nowMs - atMs < strikeWindowMs), nowMs];
    return this.#strikesMs.length >= maxStrikes;
  }
}
