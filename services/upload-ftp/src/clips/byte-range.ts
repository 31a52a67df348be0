/** Bytes from `start` to `end`, both inclusive. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const rangePattern = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * Parses a Range header for content of `sizeBytes` bytes (RFC 9110 section 14). Returns a single range, limited to the
 * content. Returns `whole` without a header, for other range units, for invalid ranges and for several ranges, to which
 * a server may respond with the whole. Returns `unsatisfiable` if the range lies outside the content.
 */
export function parseByteRange(header: string | undefined, sizeBytes: number): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first = '', last = ''] = rangePattern.exec(header ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first === '') {
    const suffix = Number(last);
    if (suffix === 0 || sizeBytes === 0) return 'unsatisfiable';
    return { start: Math.max(0, sizeBytes - suffix), end: sizeBytes - 1 };
  }
  const start = Number(first);
  if (last !== '' && Number(last) < start) return 'whole';
  if (start >= sizeBytes) return 'unsatisfiable';
  return { start, end: last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

/** Splits a range over consecutive files into its part of each file. Empty parts are omitted. */
export function splitRange(range: ByteRange, sizes: readonly number[]): { index: number; range: ByteRange }[] {
  let offset = 0;
  return sizes.flatMap((size, index) => {
    const start = Math.max(range.start - offset, 0);
    const end = Math.min(range.end - offset, size - 1);
    offset += size;
    return start <= end ? [{ index, range: { start, end } }] : [];
  });
}
