/** Attempts of the last minutes that count, and how many of those it takes to judge. */
const windowMs = 300_000;
const leastAttempts = 10;
const failingPercent = 70;
/** What is counted together, and so forgotten together. */
const slotMs = 10_000;

interface Slot {
  readonly fromMs: number;
  ended: number;
  failed: number;
}

/** Counts how the attempts of one webhook ended: those that are still under way say nothing of the receiver (platform-contract.md, section 15.3, "Breaker"). */
export class EndedAttempts {
  /** The oldest first. */
  #slots: Slot[] = [];

  note(isSuccess: boolean, nowMs: number): void {
    let slot = this.#slots.at(-1);
    if (slot === undefined || nowMs - slot.fromMs >= slotMs) {
      slot = { fromMs: nowMs, ended: 0, failed: 0 };
      this.#slots.push(slot);
    }
    slot.ended += 1;
    if (!isSuccess) slot.failed += 1;
  }

  /** Whether 70 % of at least 10 have failed. */
  isFailing(nowMs: number): boolean {
    this.#slots = this.#slots.filter(({ fromMs }) => nowMs - fromMs < windowMs);
    const ended = this.#slots.reduce((sum, slot) => sum + slot.ended, 0);
    const failed = this.#slots.reduce((sum, slot) => sum + slot.failed, 0);
    return ended >= leastAttempts && failed * 100 >= ended * failingPercent;
  }

  forget(): void {
    this.#slots = [];
  }
}
