/** Length of the sliding window, and the number of attempts required for a decision. */
const windowMs = 300_000;
const minAttempts = 10;
const failingPercent = 70;
/** Attempts that are counted, and so dropped, together. */
const slotMs = 10_000;

interface Slot {
  readonly fromMs: number;
  total: number;
  failed: number;
}

/** Counts the ended attempts of one webhook; those in progress say nothing about the receiver. */
export class FailureRateWindow {
  /** Oldest first. */
  #slots: Slot[] = [];

  record(isSuccess: boolean, nowMs: number): void {
    let slot = this.#slots.at(-1);
    if (slot === undefined || nowMs - slot.fromMs >= slotMs) {
      slot = { fromMs: nowMs, total: 0, failed: 0 };
      this.#slots.push(slot);
    }
    slot.total += 1;
    if (!isSuccess) slot.failed += 1;
  }

  /** Returns whether 70 % of at least 10 attempts failed. */
  isFailing(nowMs: number): boolean {
    this.#slots = this.#slots.filter(({ fromMs }) => nowMs - fromMs < windowMs);
    const total = this.#slots.reduce((sum, slot) => sum + slot.total, 0);
    const failed = this.#slots.reduce((sum, slot) => sum + slot.failed, 0);
    return total >= minAttempts && failed * 100 >= total * failingPercent;
  }

  clear(): void {
    this.#slots = [];
  }
}
