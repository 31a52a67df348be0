interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

/** Long enough to even out the pauses of a mobile network. */
const windowMs = 5_000;

/** Measures the speed of an upload over the last seconds. */
export class TransferRate {
  #samples: Sample[] = [];

  /** Adds the number of bytes at a time. A smaller number than before is a restarted transfer, which is measured from there. */
  add(sample: Sample): void {
    const last = this.#samples.at(-1);
    const isRestarted = last !== undefined && sample.bytes < last.bytes;
    const kept = isRestarted ? [] : this.#samples.filter(({ atMs }) => atMs >= sample.atMs - windowMs);
    // A pause longer than the window leaves one sample to measure from.
    this.#samples = [...(kept.length === 0 && last !== undefined && !isRestarted ? [last] : kept), sample];
  }

  /** Returns bytes per second; undefined before the second sample. */
  get bytesPerSecond(): number | undefined {
    const [first, last] = [this.#samples.at(0), this.#samples.at(-1)];
    if (first === undefined || last === undefined || last.atMs <= first.atMs) return undefined;
    return Math.round(((last.bytes - first.bytes) * 1_000) / (last.atMs - first.atMs));
  }
}
