/** A range of bytes of a file. */
export interface Range {
  readonly offset: number;
  readonly length: number;
}

/**
 * Terminals send 64 KiB at a time. Data in more ranges than this is deliberately fragmented; the excess is discarded
 * and requested again.
 */
const maxRanges = 4_096;

/** Records the received bytes of a file, added in any order. The ranges are sorted and neither touch nor overlap. */
export class Ranges {
  /** Start and end of each range, one after the other. */
  #borders: number[] = [];

  /** Offset after the last received byte. */
  get end(): number {
    return this.#borders.at(-1) ?? 0;
  }

  get coveredBytes(): number {
    let sum = 0;
    for (let i = 0; i < this.#borders.length; i += 2) sum += this.#at(i + 1) - this.#at(i);
    return sum;
  }

  /** Adds a range. Returns false and adds nothing if there would be too many ranges. */
  add(offset: number, length: number): boolean {
    if (length <= 0) return true;
    const end = offset + length;
    // The ranges from `first` up to `last` touch the new one.
    const first = this.#findFirstEndingFrom(offset);
    let last = first;
    while (last < this.#borders.length && this.#at(last) <= end) last += 2;
    if (first === last && this.#borders.length >= 2 * maxRanges) return false;
    const merged =
      first === last ? [offset, end] : [Math.min(offset, this.#at(first)), Math.max(end, this.#at(last - 1))];
    this.#borders.splice(first, last - first, ...merged);
    return true;
  }

  /** Returns the missing ranges of a file in order, up to `maxRanges`. */
  findMissing(sizeBytes: number, maxRanges: number): Range[] {
    const gaps: Range[] = [];
    let position = 0;
    for (let i = 0; i <= this.#borders.length && gaps.length < maxRanges; i += 2) {
      const start = Math.min(this.#borders[i] ?? sizeBytes, sizeBytes);
      if (start > position) gaps.push({ offset: position, length: start - position });
      position = this.#borders[i + 1] ?? sizeBytes;
    }
    return gaps;
  }

  /** Returns whether every byte of a file has been received. */
  covers(sizeBytes: number): boolean {
    return this.findMissing(sizeBytes, 1).length === 0;
  }

  clear(): void {
    this.#borders = [];
  }

  #at(index: number): number {
    return this.#borders[index] as number;
  }

  /** Returns the index of the first range that ends at or after `offset`. */
  #findFirstEndingFrom(offset: number): number {
    let low = 0;
    let high = this.#borders.length / 2;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#at(2 * middle + 1) < offset) low = middle + 1;
      else high = middle;
    }
    return 2 * low;
  }
}
