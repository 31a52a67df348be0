/** Bytes after which a connection is judged: some dozens of the largest frames. */
const windowBytes = 65_536;
/** After so many windows in a row without a good frame the connection is closed. */
const maxWindows = 16;
const delayStepMs = 10;

/** Finds connections that send nothing but garbage. A good terminal costs one addition and one comparison for each read. */
export class GarbageMeter {
  #bytes = 0;
  #goodFrameCount = 0;
  #garbageWindows = 0;

  /** Counts a read. `goodFrames`: those of the connection's whole life. */
  count(bytes: number, goodFrameCount: number): void {
    this.#bytes += bytes;
    if (this.#bytes < windowBytes) return;
    this.#bytes = 0;
    this.#garbageWindows = goodFrameCount > this.#goodFrameCount ? 0 : this.#garbageWindows + 1;
    this.#goodFrameCount = goodFrameCount;
  }

  get isExceeded(): boolean {
    return this.#garbageWindows >= maxWindows;
  }

  /** Pause before the next bytes are handled; longer with each window of garbage. */
  get delayMs(): number {
    return this.#garbageWindows * delayStepMs;
  }
}
