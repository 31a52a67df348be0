/** Size of a window: some dozens of the largest frames. */
const windowBytes = 65_536;
/** Number of consecutive windows without a valid frame after which the connection is closed. */
const maxWindows = 16;
const delayStepMs = 10;

/**
 * Detects connections that send only garbage. For a working terminal each read costs one addition and one comparison.
 */
export class GarbageMeter {
  #bytes = 0;
  #goodFrameCount = 0;
  #garbageWindows = 0;

  /** Counts a read. `goodFrameCount` is the total of the connection. */
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

  /** Delay before the next bytes are handled; grows with each window of garbage. */
  get delayMs(): number {
    return this.#garbageWindows * delayStepMs;
  }
}
