/** Precomputed ITU-T G.711 tables. */
const aLawTable = Int16Array.from({ length: 256 }, (_, code) => decodeALawCode(code));
const muLawTable = Int16Array.from({ length: 256 }, (_, code) => decodeMuLawCode(code));

function decodeALawCode(code: number): number {
  const value = code ^ 0x55;
  const exponent = (value >> 4) & 7;
  const mantissa = ((value & 0x0f) << 4) + 8;
  const magnitude = exponent === 0 ? mantissa : (mantissa + 0x100) << (exponent - 1);
  return (value & 0x80) === 0 ? -magnitude : magnitude;
}

function decodeMuLawCode(code: number): number {
  const value = ~code & 0xff;
  const magnitude = ((((value & 0x0f) << 3) + 0x84) << ((value >> 4) & 7)) - 0x84;
  return (value & 0x80) === 0 ? magnitude : -magnitude;
}

function encodeALawSample(sample: number): number {
  const sign = sample >= 0 ? 0x80 : 0;
  const magnitude = sample >= 0 ? sample : -sample - 1;
  const exponent = magnitude < 256 ? 0 : 24 - Math.clz32(magnitude);
  const mantissa = (magnitude >> (exponent === 0 ? 4 : exponent + 3)) & 0x0f;
  return (sign | (exponent << 4) | mantissa) ^ 0x55;
}

function encodeMuLawSample(sample: number): number {
  const sign = sample < 0 ? 0x80 : 0;
  const magnitude = Math.min(32_635, Math.abs(sample)) + 0x84;
  const exponent = 24 - Math.clz32(magnitude);
  const mantissa = (magnitude >> (exponent + 3)) & 0x0f;
  return ~(sign | (exponent << 4) | mantissa) & 0xff;
}

/** Decodes G.711 A-law (payload type 6) to 16-bit samples. */
export const decodeG711A = (data: Uint8Array): Int16Array => Int16Array.from(data, (code) => aLawTable[code] ?? 0);

/** Decodes G.711 mu-law (payload type 7) to 16-bit samples. */
export const decodeG711U = (data: Uint8Array): Int16Array => Int16Array.from(data, (code) => muLawTable[code] ?? 0);

/** Encodes 16-bit samples as G.711 A-law (payload type 6). */
export const encodeG711A = (pcm: Int16Array): Buffer => Buffer.from(Uint8Array.from(pcm, encodeALawSample).buffer);

/** Encodes 16-bit samples as G.711 mu-law (payload type 7). */
export const encodeG711U = (pcm: Int16Array): Buffer => Buffer.from(Uint8Array.from(pcm, encodeMuLawSample).buffer);

/** Converts 16-bit samples to little-endian bytes, ffmpeg's `s16le`. */
export function toS16le(pcm: Int16Array): Buffer {
  const bytes = Buffer.allocUnsafe(pcm.length * 2);
  for (let i = 0; i < pcm.length; i++) bytes.writeInt16LE(pcm[i] ?? 0, i * 2);
  return bytes;
}

/** Converts little-endian bytes to 16-bit samples. */
export function fromS16le(bytes: Buffer): Int16Array {
  const pcm = new Int16Array(bytes.length >> 1);
  for (let i = 0; i < pcm.length; i++) pcm[i] = bytes.readInt16LE(i * 2);
  return pcm;
}
