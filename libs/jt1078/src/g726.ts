const BYTES_AT_40_MS = new Map([
  [80, 2],
  [120, 3],
  [160, 4],
  [200, 5],
]);
const BYTES_AT_20_MS = new Map([
  [40, 2],
  [60, 3],
  [100, 5],
]);

/**
 * Bits per code of G.726 (ffmpeg's `-code_size`) by the length of a frame: 40 ms frames of 80, 120, 160 and 200 bytes are
 * 16, 24, 32 and 40 kbit/s. Null when the length fits no rate. The bit order is `g726le`.
 */
export const g726CodeSize = (frameBytes: number): number | null =>
  BYTES_AT_40_MS.get(frameBytes) ?? BYTES_AT_20_MS.get(frameBytes) ?? null;
