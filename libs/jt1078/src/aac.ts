/** Sampling frequencies of ISO/IEC 14496-3 table 1.18. */
export const aacSampleRates = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
] as const;

/** Samples per AAC frame. */
export const aacFrameSamples = 1024;

/** Audio object type of AAC-LC. */
export const aacLcObjectType = 2;

/** Configuration that an AAC decoder needs before the first frame. */
export interface AacConfig {
  /** Audio object type, such as `aacLcObjectType`. */
  objectType: number;
  sampleRate: number;
  channels: number;
}

/** Header of one ADTS frame. */
interface AdtsHeader extends AacConfig {
  headerBytes: number;
  /** Length including the header. */
  frameBytes: number;
  samples: number;
}

/** Parses the ADTS header at `at`. Returns null when there is none. */
export function parseAdts(data: Uint8Array, at = 0): AdtsHeader | null {
  const byte = (i: number): number => data[at + i] ?? 0;
  if (data.length - at < 7 || byte(0) !== 0xff || (byte(1) & 0xf6) !== 0xf0) return null;
  const sampleRate = aacSampleRates[(byte(2) >> 2) & 0x0f];
  const headerBytes = (byte(1) & 1) === 1 ? 7 : 9;
  const frameBytes = ((byte(3) & 3) << 11) | (byte(4) << 3) | (byte(5) >> 5);
  if (sampleRate === undefined || frameBytes <= headerBytes) return null;
  return {
    objectType: (byte(2) >> 6) + 1,
    sampleRate,
    channels: ((byte(2) & 1) << 2) | (byte(3) >> 6),
    headerBytes,
    frameBytes,
    samples: aacFrameSamples * ((byte(6) & 3) + 1),
  };
}

/** Encodes the 2-byte AudioSpecificConfig of ISO/IEC 14496-3, 1.6.2.1. */
export function encodeAudioSpecificConfig(config: AacConfig): Buffer {
  const rate = aacSampleRates.findIndex((known) => known === config.sampleRate);
  if (rate < 0) throw new RangeError(`AAC does not support sample rate ${config.sampleRate}`);
  return Buffer.from([(config.objectType << 3) | (rate >> 1), ((rate & 1) << 7) | (config.channels << 3)]);
}

/** Parses a plain AudioSpecificConfig. Returns null for any other form. */
export function parseAudioSpecificConfig(data: Uint8Array): AacConfig | null {
  const [first = 0, second = 0] = data;
  const sampleRate = aacSampleRates[((first & 7) << 1) | (second >> 7)];
  if (data.length < 2 || sampleRate === undefined) return null;
  return { objectType: first >> 3, sampleRate, channels: (second >> 3) & 0x0f };
}

/** A raw frame of silence in AAC-LC, by the number of channels. */
const silentFrames: ReadonlyMap<number, Buffer> = new Map([
  [1, Buffer.from('00c800802380', 'hex')],
  [2, Buffer.from('210049900219002380', 'hex')],
]);

/** Returns a raw frame of silence (without ADTS header); undefined for other than AAC-LC in mono or stereo. */
export const getSilentAacFrame = ({ objectType, channels }: AacConfig): Buffer | undefined =>
  objectType === aacLcObjectType ? silentFrames.get(channels) : undefined;

/** Maximum frame length, given by the 13-bit length field of ADTS. */
const maxAdtsBytes = 8191;

/** Splits an ADTS byte stream (ffmpeg's `-f adts`) into frames including headers. Skips bytes between frames. */
export class AdtsSplitter {
  skippedBytes = 0;
  readonly #onFrame: (frame: Buffer) => void;
  #pending: Buffer = Buffer.alloc(0);

  constructor(onFrame: (frame: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  /** Parses the next bytes. Emitted frames are views of them, or of a copy of carried-over bytes. */
  push(chunk: Buffer): void {
    const data = this.#pending.length === 0 ? chunk : Buffer.concat([this.#pending, chunk]);
    let at = 0;
    while (data.length - at >= 7) {
      const header = parseAdts(data, at);
      if (header === null) {
        at++;
        this.skippedBytes++;
        continue;
      }
      if (data.length - at < header.frameBytes) break;
      this.#onFrame(data.subarray(at, at + header.frameBytes));
      at += header.frameBytes;
    }
    this.#pending = Buffer.from(data.subarray(at, at + maxAdtsBytes));
  }
}
