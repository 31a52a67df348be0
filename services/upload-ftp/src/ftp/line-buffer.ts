const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/**
 * Splits the bytes of a control connection into command lines, independent of TCP segments. CRLF and a bare LF end a
 * line.
 */
export class LineBuffer {
  readonly #maxLineBytes: number;
  #partialLine: Buffer = Buffer.alloc(0);

  constructor(maxLineBytes: number) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** True if the last line is incomplete. */
  get hasPartialLine(): boolean {
    return this.#partialLine.length > 0;
  }

  /** Adds received bytes and returns the complete lines; null if a line is longer than any command. */
  push(chunk: Buffer): string[] | null {
    const bytes = this.#partialLine.length === 0 ? chunk : Buffer.concat([this.#partialLine, chunk]);
    const lines: string[] = [];
    let start = 0;
    for (let end = bytes.indexOf(lineFeed); end !== -1; end = bytes.indexOf(lineFeed, start)) {
      const last = end > start && bytes[end - 1] === carriageReturn ? end - 1 : end;
      if (last - start > this.#maxLineBytes) return null;
      if (last > start) lines.push(bytes.toString('utf8', start, last));
      start = end + 1;
    }
    this.#partialLine = bytes.subarray(start);
    return this.#partialLine.length > this.#maxLineBytes ? null : lines;
  }
}
