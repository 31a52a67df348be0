/** Input that is this far from where it was expected begins a new stretch, so that picture and sound stay together. */
const GAP_MS = 200;

interface Stretch {
  /** Fed before it. */
  fedMs: number;
  timestampMs: number;
}

/** Times of transcoded frames: anchored at the stream time of the first sample fed, anew after a gap in the input. */
export class TranscodeClock {
  readonly #stretches: Stretch[] = [];
  #fedMs = 0;
  #emittedMs = 0;
  #last = 0;

  /** Notes input handed to the transcoder. */
  fed(timestampMs: number, durationMs: number): void {
    const current = this.#stretches.at(-1);
    const expected = current && current.timestampMs + this.#fedMs - current.fedMs;
    if (expected === undefined || Math.abs(timestampMs - expected) > GAP_MS) {
      this.#stretches.push({ fedMs: this.#fedMs, timestampMs });
    }
    this.#fedMs += durationMs;
  }

  /** Stream time of the transcoder's next output frame; never goes back. */
  next(sampleRate: number, samples = 1024): number {
    while ((this.#stretches[1]?.fedMs ?? Number.POSITIVE_INFINITY) <= this.#emittedMs) this.#stretches.shift();
    const stretch = this.#stretches[0] ?? { fedMs: 0, timestampMs: 0 };
    this.#last = Math.max(this.#last, stretch.timestampMs + this.#emittedMs - stretch.fedMs);
    this.#emittedMs += (samples * 1000) / sampleRate;
    return this.#last;
  }
}
