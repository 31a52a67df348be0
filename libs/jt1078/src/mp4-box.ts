/** Creates an ISO BMFF box (ISO/IEC 14496-12, 4.2) with the given content. */
export function createBox(type: string, ...content: readonly Uint8Array[]): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt32BE(8 + content.reduce((bytes, part) => bytes + part.length, 0), 0);
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, ...content]);
}

/** Creates a box with version and flags (ISO/IEC 14496-12, 4.2). */
export const createFullBox = (
  type: string,
  version: number,
  flags: number,
  ...content: readonly Uint8Array[]
): Buffer => createBox(type, uint32((version << 24) | flags), ...content);

/** Encodes 16-bit big-endian numbers. */
export function uint16(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value & 0xffff, index * 2);
  return bytes;
}

/** Encodes 32-bit big-endian numbers; negative ones in two's complement. */
export function uint32(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4);
  return bytes;
}

/** Encodes a 64-bit big-endian number. */
export function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}
