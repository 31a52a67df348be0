/** Width and height of a picture in pixels. */
interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/**
 * Reads the size of a picture from its header, without decoding it: a small file may contain a picture that does not
 * fit in memory. Returns null if the header cannot be read.
 */
export function imageSize(bytes: Buffer, mimeType: 'image/jpeg' | 'image/png' | 'image/webp'): ImageSize | null {
  try {
    if (mimeType === 'image/png') return pngSize(bytes);
    return mimeType === 'image/jpeg' ? jpegSize(bytes) : webpSize(bytes);
  } catch (error) {
    if (truncated(error)) return null;
    throw error;
  }
}

/** Returns whether an error was caused by reading beyond the end of a buffer. */
const truncated = (error: unknown): boolean =>
  typeof error === 'object' &&
  error !== null &&
  'code' in error &&
  (error.code === 'ERR_OUT_OF_RANGE' || error.code === 'ERR_BUFFER_OUT_OF_BOUNDS');

// IHDR is always the first chunk.
const pngSize = (bytes: Buffer): ImageSize => ({ width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) });

/** Returns whether a segment has no length: RSTn, SOI, TEM. */
const isBare = (marker: number): boolean => (marker >= 0xd0 && marker <= 0xd8) || marker === 0x01;
/** Returns whether a marker starts a frame of any process. DHT, JPG and DAC are in the same range. */
const isFrame = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;

/**
 * Returns the size of the largest frame before the picture's data, because a decoder may use a second frame instead of
 * the first.
 */
function jpegSize(bytes: Buffer): ImageSize | null {
  let size: ImageSize | null = null;
  let at = 2;
  while (at + 1 < bytes.length) {
    if (bytes.readUInt8(at) !== 0xff) return null;
    const marker = bytes.readUInt8(at + 1);
    if (marker === 0xff) at += 1;
    else if (isBare(marker)) at += 2;
    else if (marker === 0xda || marker === 0xd9) return size;
    else {
      if (isFrame(marker))
        size = larger(size, { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) });
      at += 2 + bytes.readUInt16BE(at + 2);
    }
  }
  return size;
}

const larger = (one: ImageSize | null, other: ImageSize): ImageSize =>
  one !== null && one.width * one.height > other.width * other.height ? one : other;

/** Reads the canvas of VP8X, or the frame of VP8L or VP8 (RFC 9649). */
function webpSize(bytes: Buffer): ImageSize | null {
  switch (bytes.toString('latin1', 12, 16)) {
    case 'VP8X':
      return { width: 1 + bytes.readUIntLE(24, 3), height: 1 + bytes.readUIntLE(27, 3) };
    case 'VP8L': {
      const bits = bytes.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
    }
    case 'VP8 ':
      return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
    default:
      return null;
  }
}
