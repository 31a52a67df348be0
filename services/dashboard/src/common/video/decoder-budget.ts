/** Pictures that an element has shown and dropped. */
export interface FrameCount {
  readonly total: number;
  readonly dropped: number;
}

/** A tile that decodes video. */
export interface Decoder {
  /** Stops decoding; the user can resume it. */
  park(): void;
  countFrames(): FrameCount;
}

const highestDroppedShare = 0.15;
const windowsBeforeParking = 2;
/** Every device decodes as many sub streams. */
const minDecoders = 4;

/** Returns how many sub streams this device decodes: 16 on a desktop, 9 below four cores, 4 on a phone. */
export function findDecoderLimit({ isPhone, cores }: { readonly isPhone: boolean; readonly cores: number }): number {
  if (isPhone) return minDecoders;
  return cores < 4 ? 9 : 16;
}

/** Limits the tiles that decode at once. The tile that was used least recently is parked first. */
export class DecoderBudget {
  readonly #getLimit: () => number;
  /** The tile that was used last is at the end, with its count at the last check. */
  readonly #decoders = new Map<Decoder, FrameCount>();
  #slowWindows = 0;

  constructor(getLimit: () => number) {
    this.#getLimit = getLimit;
  }

  get size(): number {
    return this.#decoders.size;
  }

  /**
   * Admits a tile. A tile that the user resumed replaces the least recently used one; others are refused while the budget
   * is spent. Returns whether the tile may decode.
   */
  admit(decoder: Decoder, { isWanted }: { readonly isWanted: boolean }): boolean {
    if (this.#decoders.has(decoder)) return true;
    if (this.#decoders.size >= this.#getLimit()) {
      if (!isWanted) return false;
      this.#parkOldest();
    }
    this.#decoders.set(decoder, decoder.countFrames());
    return true;
  }

  /** Records that the user used a tile. */
  touch(decoder: Decoder): void {
    const count = this.#decoders.get(decoder);
    if (count === undefined) return;
    this.#decoders.delete(decoder);
    this.#decoders.set(decoder, count);
  }

  release(decoder: Decoder): void {
    this.#decoders.delete(decoder);
  }

  /** Parks a tile if more than 15 % of the pictures were dropped in two windows. Call it every five seconds. */
  check(): void {
    let [total, dropped] = [0, 0];
    for (const [decoder, before] of this.#decoders) {
      const now = decoder.countFrames();
      total += Math.max(0, now.total - before.total);
      dropped += Math.max(0, now.dropped - before.dropped);
      this.#decoders.set(decoder, now);
    }
    this.#slowWindows = total > 0 && dropped / total > highestDroppedShare ? this.#slowWindows + 1 : 0;
    if (this.#slowWindows < windowsBeforeParking || this.#decoders.size <= minDecoders) return;
    this.#slowWindows = 0;
    this.#parkOldest();
  }

  /** Forgets slow windows: a hidden page drops pictures on purpose. */
  reset(): void {
    this.#slowWindows = 0;
  }

  #parkOldest(): void {
    const [oldest] = this.#decoders.keys();
    if (oldest === undefined) return;
    this.#decoders.delete(oldest);
    oldest.park();
  }
}
