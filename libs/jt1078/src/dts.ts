/** No device reorders deeper. */
const MAX_DEPTH = 4;
/** Frames without a step back after which timestamps are taken for decoding times. */
const RISING_LIMIT = 24;

/**
 * Decoding times from presentation times. Without B frames they are equal. With them the i-th frame gets the
 * (i - depth)-th smallest presentation time, so that times rise and composition times are never negative.
 */
export class DtsDeriver {
  #statedDepth = 0;
  #depth = 0;
  #window: number[] = [];
  #recent: number[] = [];
  #risingRun = 0;
  #lastDts = -1;

  /** Reorder depth as the stream states it. */
  setDepth(depth: number): void {
    const bounded = Math.min(MAX_DEPTH, depth);
    if (bounded === this.#statedDepth) return;
    this.#statedDepth = bounded;
    this.#useDepth(bounded);
  }

  /** The stream's order starts anew; the output does not go back. */
  restart(): void {
    this.#useDepth(this.#statedDepth);
    this.#recent = [];
  }

  /** The decoding time of the next frame in coded order, in whole ms, above that of the frame before. */
  next(pts: number, frameMs: number): number {
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

  #useDepth(depth: number): void {
    this.#depth = depth;
    this.#window = [];
    this.#risingRun = 0;
  }

  #observe(pts: number): void {
    const after = this.#recent.filter((other) => other > pts).length;
    this.#recent.push(pts);
    if (this.#recent.length > MAX_DEPTH + 1) this.#recent.shift();
    if (after > 0) {
      this.#risingRun = 0;
      const depth = Math.max(this.#statedDepth, Math.min(after, MAX_DEPTH));
      if (depth > this.#depth) this.#useDepth(depth);
    } else if (++this.#risingRun >= RISING_LIMIT && this.#depth > 0) {
      this.#useDepth(0);
    }
  }
}
