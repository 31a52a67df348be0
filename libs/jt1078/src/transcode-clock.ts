/** Deviation of input from its expected time at which a new segment begins, so that audio and video stay in sync. */
const gapMs = 200;

interface ClockSegment {
  /** Input duration before this segment. */
  fedMs: number;
  timestampMs: number;
}

/**
 * Provides the clock of transcoded frames. It starts at the stream time of the first input sample, and again after a
 * gap in the input.
 */
export class TranscodeClock {
  readonly #segments: ClockSegment[] = [];
  #fedMs = 0;
  #emittedMs = 0;
  #last = 0;

  /** Records input passed to the transcoder. */
  recordInput(timestampMs: number, durationMs: number): void {
    const current = this.#segments.at(-1);
    const expected = current && current.timestampMs + this.#fedMs - current.fedMs;
    if (expected === undefined || Math.abs(timestampMs - expected) > gapMs) {
      this.#segments.push({ fedMs: this.#fedMs, timestampMs });
    }
    this.#fedMs += durationMs;
  }

  /** Returns the stream time of the transcoder's next output frame; never goes back. */
  nextOutputTime(sampleRate: number, samples = 1024): number {
    while ((this.#segments[1]?.fedMs ?? Number.POSITIVE_INFINITY) <= this.#emittedMs) this.#segments.shift();
    const segment = this.#segments[0] ?? { fedMs: 0, timestampMs: 0 };
    this.#last = Math.max(this.#last, segment.timestampMs + this.#emittedMs - segment.fedMs);
    this.#emittedMs += (samples * 1000) / sampleRate;
    return this.#last;
  }
}
