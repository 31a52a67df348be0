const bytesAt40Ms = new Map([
  [80, 2],
  [120, 3],
  [160, 4],
  [200, 5],
]);
const bytesAt20Ms = new Map([
  [40, 2],
  [60, 3],
  [100, 5],
]);

/**
 * Returns the bits per code of G.726 (ffmpeg's `-code_size`) for a frame length: 40 ms frames of 80, 120, 160 and 200
 * bytes are 16, 24, 32 and 40 kbit/s. Returns null when the length matches no rate. The bit order is `g726le`.
 */
export const getG726CodeSize = (frameBytes: number): number | null =>
  bytesAt40Ms.get(frameBytes) ?? bytesAt20Ms.get(frameBytes) ?? null;
