import { getG726CodeSize } from './g726.ts';

/** Bytes of 40 ms of 16 kbit/s, and of 20 ms of 32 kbit/s. */
const ambiguousBytes = 80;
/** Below it, frames of that length last 20 ms. */
const shortFrameMs = 30;
const codeSizes = { long: 2, short: 4 } as const;
/** Odd, so that the median is one of them. */
const maxIntervals = 9;

/**
 * Finds the rate of G.726 by the lengths of frames. 80 bytes are 40 ms of 16 kbit/s or 20 ms of 32 kbit/s: the intervals
 * between the timestamps decide, as 0x1003 reports a frame length that is the same for both. Their median ignores lost
 * packets and jitter.
 */
export class G726Rate {
  readonly #intervalsMs: number[] = [];
  #lastTimestampMs: number | null = null;

  /** Returns the bits per code of a frame, or null for an unknown length. Without timestamps 80 bytes are 16 kbit/s. */
  find(frameBytes: number, timestampMs: number | null): number | null {
    if (frameBytes !== ambiguousBytes) return getG726CodeSize(frameBytes);
    if (timestampMs !== null) this.#record(timestampMs);
    const median = this.#intervalsMs.toSorted((a, b) => a - b)[Math.floor(this.#intervalsMs.length / 2)];
    return median !== undefined && median < shortFrameMs ? codeSizes.short : codeSizes.long;
  }

  #record(timestampMs: number): void {
    const last = this.#lastTimestampMs;
    this.#lastTimestampMs = timestampMs;
    // The clock has 32 bits. Equal timestamps say nothing.
    const intervalMs = last === null ? 0 : (timestampMs - last) >>> 0;
    if (intervalMs === 0) return;
    this.#intervalsMs.push(intervalMs);
    if (this.#intervalsMs.length > maxIntervals) this.#intervalsMs.shift();
  }
}
