/** Number of consecutive gaps, without two packets in order in between, that makes the counter unusable. */
const unusableAfterGaps = 32;

/**
 * Tracks the sequence of one connection. Audio and video normally share one counter. Counters per channel or per kind
 * are accepted, too. An unusable counter is ignored until packets are in order again.
 */
export class SequenceTracker {
  gaps = 0;
  lost = 0;
  isUsable = true;
  #last = -1;
  #gapRun = 0;
  #orderRun = 0;
  #hasCounted = false;

  /** True once packets have arrived in order: from then on the counter identifies a packet. */
  get isCounting(): boolean {
    return this.isUsable && this.#hasCounted;
  }

  /**
   * Returns true when no packet is missing before this one. `lastOfChannel` and `lastOfKind` are the last sequences of
   * its channel and kind.
   */
  isInOrder(sequence: number, lastOfChannel: number, lastOfKind: number, isContinuation: boolean): boolean {
    const last = this.#last;
    this.#last = sequence;
    // The first packet of a channel with its own counter does not indicate a gap of the others.
    if (last < 0 || lastOfChannel < 0) return true;
    const isNext = (previous: number): boolean => previous >= 0 && sequence === ((previous + 1) & 0xffff);
    // Some devices count frames: all packets of a frame have the same number.
    if (isContinuation && sequence === lastOfKind) return true;
    if (isNext(last) || isNext(lastOfChannel) || isNext(lastOfKind)) {
      this.#gapRun = 0;
      this.#hasCounted = true;
      this.#orderRun++;
      if (this.#orderRun >= unusableAfterGaps) this.isUsable = true;
      return true;
    }
    this.#orderRun = 0;
    this.#gapRun++;
    if (this.#gapRun >= unusableAfterGaps) {
      this.isUsable = false;
      this.#hasCounted = false;
    }
    if (!this.isUsable) return true;
    this.gaps++;
    const missing = (sequence - last - 1) & 0xffff;
    if (missing < 0x8000) this.lost += missing;
    return false;
  }
}
