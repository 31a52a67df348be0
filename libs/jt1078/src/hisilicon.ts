const headerBytes = 4;

/** True when a frame begins with `00 01 LL 00`, LL half of what follows; any codec may carry it. */
export function hasHisiliconHeader(frame: Uint8Array): boolean {
  return (
    frame.length > headerBytes &&
    frame[0] === 0 &&
    frame[1] === 1 &&
    frame[3] === 0 &&
    (frame[2] ?? 0) * 2 === frame.length - headerBytes
  );
}

/** The frame without its Hisilicon header, as a view. */
export const stripHisiliconHeader = (frame: Buffer): Buffer =>
  hasHisiliconHeader(frame) ? frame.subarray(headerBytes) : frame;

/** The frame with a Hisilicon header; its length byte holds even lengths below 512 only. */
export function addHisiliconHeader(frame: Uint8Array): Buffer {
  if (frame.length % 2 !== 0 || frame.length > 510)
    throw new RangeError('a Hisilicon frame has an even length up to 510');
  return Buffer.concat([Buffer.from([0, 1, frame.length / 2, 0]), frame]);
}
