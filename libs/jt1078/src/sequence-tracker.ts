/** So many gaps without two packets in order in between: the counter says nothing. */
const unusableAfterGaps = 32;

/**
 * Watches the sequence of one connection. Audio and video share one counter; a device that counts by channel or by kind
 * instead is accepted too, and a counter that says nothing is ignored until it makes sense again.
 */
export class SequenceTracker {
  gaps = 0;
  lost = 0;
  isUsable = true;
  #last = -1;
  #gapRun = 0;
  #orderRun = 0;
  #hasCounted = false;

  /** True once packets have come in order: from then on the counter identifies a packet. */
  get isCounting(): boolean {
    return this.isUsable && this.#hasCounted;
  }

  /** True when no packet is missing before this one. `others` are the last sequences of its channel and kind. */
  isInOrder(sequence: number, lastOfChannel: number, lastOfKind: number, isContinuation: boolean): boolean {
    const last = this.#last;
    this.#last = sequence;
    // The first packet of a channel that counts by itself: it says nothing of the others.
    if (last < 0 || lastOfChannel < 0) return true;
    const isNext = (previous: number): boolean => previous >= 0 && sequence === ((previous + 1) & 0xffff);
    // One number for a whole train: some count frames.
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
