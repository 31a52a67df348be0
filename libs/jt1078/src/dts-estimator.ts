/** Maximum reorder depth of real devices. */
const maxReorderDepth = 4;
/** Number of frames without a backward step after which timestamps are treated as decoding times. */
const risingFramesLimit = 24;

/**
 * Estimates decoding times from presentation times. Without B frames they are equal. Otherwise the i-th frame gets the
 * (i - depth)-th smallest presentation time, so times increase and composition times are never negative.
 */
export class DtsEstimator {
  #declaredDepth = 0;
  #depth = 0;
  #window: number[] = [];
  #recent: number[] = [];
  #risingRun = 0;
  #lastDts = -1;

  /** Sets the reorder depth declared by the stream. */
  setReorderDepth(depth: number): void {
    const limitedDepth = Math.min(maxReorderDepth, depth);
    if (limitedDepth === this.#declaredDepth) return;
    this.#declaredDepth = limitedDepth;
    this.#applyDepth(limitedDepth);
  }

  /** Restarts the order of the stream; output times do not go back. */
  restart(): void {
    this.#applyDepth(this.#declaredDepth);
    this.#recent = [];
  }

  /** Returns the decoding time of the next frame in coded order, in whole ms, always above the previous one. */
  nextDts(pts: number, frameMs: number): number {
    this.#observe(pts);
    let dts = pts;
    if (this.#depth > 0) {
      while (this.#window.length < this.#depth) {
        this.#window.push(pts - (this.#depth - this.#window.length) * frameMs);
      }
      let at = this.#window.length;
      while (at > 0 && (this.#window[at - 1] ?? 0) > pts) at--;
      this.#window.splice(at, 0, pts);
      dts = this.#window.shift() ?? pts;
    }
    this.#lastDts = Math.max(Math.round(dts), this.#lastDts + 1);
    return this.#lastDts;
  }

  #applyDepth(depth: number): void {
    this.#depth = depth;
    this.#window = [];
    this.#risingRun = 0;
  }

  #observe(pts: number): void {
    const laterCount = this.#recent.filter((other) => other > pts).length;
    this.#recent.push(pts);
    if (this.#recent.length > maxReorderDepth + 1) this.#recent.shift();
    if (laterCount > 0) {
      this.#risingRun = 0;
      const depth = Math.max(this.#declaredDepth, Math.min(laterCount, maxReorderDepth));
      if (depth > this.#depth) this.#applyDepth(depth);
    } else if (++this.#risingRun >= risingFramesLimit && this.#depth > 0) {
      this.#applyDepth(0);
    }
  }
}
