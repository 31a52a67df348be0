/** Header of one MPEG audio frame (layer III or another). */
export interface Mp3Header {
  sampleRate: number;
  channels: number;
  samples: number;
}

const sampleRates = [44_100, 48_000, 32_000];

/** Parses the MPEG audio frame header at the start. Returns null when there is none. */
export function parseMp3(data: Uint8Array): Mp3Header | null {
  const [first = 0, second = 0, third = 0, fourth = 0] = data;
  if (data.length < 4 || first !== 0xff || (second & 0xe0) !== 0xe0) return null;
  const version = (second >> 3) & 3; // 0: MPEG 2.5, 2: MPEG 2, 3: MPEG 1
  const layer = 4 - ((second >> 1) & 3); // 1 to 3
  const rate = sampleRates[(third >> 2) & 3];
  if (version === 1 || layer === 4 || rate === undefined) return null;
  const divisor = version === 3 ? 1 : version === 2 ? 2 : 4;
  const samples = layer === 1 ? 384 : layer === 3 && version !== 3 ? 576 : 1152;
  return { sampleRate: rate / divisor, channels: fourth >> 6 === 3 ? 1 : 2, samples };
}
