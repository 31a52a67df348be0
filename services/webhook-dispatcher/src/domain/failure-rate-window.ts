/** Attempts of the last minutes that count, and how many of those it takes to judge. */
const windowMs = 300_000;
const minAttempts = 10;
const failingPercent = 70;
/** What is counted together, and so forgotten together. */
const slotMs = 10_000;

interface Slot {
  readonly fromMs: number;
  total: number;
  failed: number;
}

/** Counts how the attempts of one webhook ended: those that are still under way say nothing of the receiver (platform-contract.md, section 15.3, "Breaker"). */
export class FailureRateWindow {
  /** The oldest first. */
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

  /** Whether 70 % of at least 10 have failed. */
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
