/** Bytes after which a connection is judged: some dozens of the largest frames. */
const windowBytes = 65_536;
/** After so many windows in a row without a good frame the connection is closed. */
const maxWindows = 16;
const delayStepMs = 10;

/** Finds connections that send nothing but garbage. A good terminal costs one addition and one comparison for each read. */
export class GarbageMeter {
  #bytes = 0;
  #goodFrames = 0;
  #windows = 0;

  /** Counts a read. `goodFrames`: those of the connection's whole life. */
  count(bytes: number, goodFrames: number): void {
    this.#bytes += bytes;
    if (this.#bytes < windowBytes) return;
    this.#bytes = 0;
    this.#windows = goodFrames > this.#goodFrames ? 0 : this.#windows + 1;
    this.#goodFrames = goodFrames;
  }

  get isOver(): boolean {
    return this.#windows >= maxWindows;
  }

  /** Pause before the next bytes are handled; longer with each window of garbage. */
  get delayMs(): number {
    return this.#windows * delayStepMs;
  }
}
