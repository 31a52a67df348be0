import { type AacConfig, aacSampleRates } from '../aac.ts';

/** Encodes the 7-byte ADTS header of a raw AAC frame. */
export function encodeAdtsHeader(config: AacConfig, rawBytes: number): Buffer {
  const rate = aacSampleRates.findIndex((known) => known === config.sampleRate);
  if (rate < 0) throw new RangeError(`AAC does not support sample rate ${config.sampleRate}`);
  const length = rawBytes + 7;
  return Buffer.from([
    0xff,
    0xf1,
    ((config.objectType - 1) << 6) | (rate << 2) | (config.channels >> 2),
    ((config.channels & 3) << 6) | (length >> 11),
    (length >> 3) & 0xff,
    ((length & 7) << 5) | 0x1f,
    0xfc,
  ]);
}
