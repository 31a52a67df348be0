/** A stretch of a file. */
export interface Range {
  readonly offset: number;
  readonly length: number;
}

/** A terminal sends 64 KiB at a time: what is more scattered than this was scattered on purpose, and is asked for again. */
const maxRanges = 4_096;

/** Which bytes of a file have come, in whatever order: stretches that neither touch nor overlap, in order. */
export class Ranges {
  /** Start and end of each stretch, one after the other. */
  #borders: number[] = [];

  /** End of the last byte that has come. */
  get end(): number {
    return this.#borders.at(-1) ?? 0;
  }

  get coveredBytes(): number {
    let sum = 0;
    for (let i = 0; i < this.#borders.length; i += 2) sum += this.#at(i + 1) - this.#at(i);
    return sum;
  }

  /** Adds a stretch; false, and nothing is added, when there would be too many. */
  add(offset: number, length: number): boolean {
    if (length <= 0) return true;
    const end = offset + length;
    // The stretches from `first` up to `last` touch the new one.
    const first = this.#findFirstEndingFrom(offset);
    let last = first;
    while (last < this.#borders.length && this.#at(last) <= end) last += 2;
    if (first === last && this.#borders.length >= 2 * maxRanges) return false;
    const merged =
      first === last ? [offset, end] : [Math.min(offset, this.#at(first)), Math.max(end, this.#at(last - 1))];
    this.#borders.splice(first, last - first, ...merged);
    return true;
  }

  /** What is missing of a file, in order, at most so many stretches. */
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

  /** Whether every byte of a file has come. */
  covers(sizeBytes: number): boolean {
    return this.findMissing(sizeBytes, 1).length === 0;
  }

  clear(): void {
    this.#borders = [];
  }

  #at(index: number): number {
    return this.#borders[index] as number;
  }

  /** Index of the first stretch that ends at `offset` or behind it. */
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
