const headerBytes = 4;

/**
 * Returns true when a frame begins with `00 01 LL 00`, where LL is half the length of the rest. Any codec may have it.
 */
export function hasHisiliconHeader(frame: Uint8Array): boolean {
  return (
    frame.length > headerBytes &&
    frame[0] === 0 &&
    frame[1] === 1 &&
    frame[3] === 0 &&
    (frame[2] ?? 0) * 2 === frame.length - headerBytes
  );
}

/** Returns the frame without its Hisilicon header, as a view. */
export const stripHisiliconHeader = (frame: Buffer): Buffer =>
  hasHisiliconHeader(frame) ? frame.subarray(headerBytes) : frame;

/** Adds a Hisilicon header to a frame. Its length byte supports only even lengths below 512. */
export function addHisiliconHeader(frame: Uint8Array): Buffer {
  if (frame.length % 2 !== 0 || frame.length > 510)
    throw new RangeError('a Hisilicon frame must have an even length up to 510');
  return Buffer.concat([Buffer.from([0, 1, frame.length / 2, 0]), frame]);
}
