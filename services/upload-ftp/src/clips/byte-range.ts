/** Bytes from `start` to `end`, both included. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

const rangePattern = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i;

/**
 * What a Range header asks of `sizeBytes` bytes (RFC 9110 section 14): one range, cut to what there is; `whole` for none, for what is no range of bytes, and for
 * several ranges, which a server may answer as a whole; `unsatisfiable` where nothing of it is there.
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

/** The parts of a range that lie in each of several files that follow one another; empty parts are left out. */
export function splitRange(range: ByteRange, sizes: readonly number[]): { index: number; range: ByteRange }[] {
  let offset = 0;
  return sizes.flatMap((size, index) => {
    const start = Math.max(range.start - offset, 0);
    const end = Math.min(range.end - offset, size - 1);
    offset += size;
    return start <= end ? [{ index, range: { start, end } }] : [];
  });
}
