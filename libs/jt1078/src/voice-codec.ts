import { AdpcmEncoder, decodeAdpcm } from './adpcm.ts';
import { decodeG711A, decodeG711U, encodeG711A, encodeG711U } from './g711.ts';
import { G726Decoder, G726Encoder } from './g726-codec.ts';
import { G726Rate } from './g726-rate.ts';
import { addHisiliconHeader, stripHisiliconHeader } from './hisilicon.ts';
import { PayloadType } from './tables.ts';

/** Sample rate of talk in both directions. */
export const voiceSampleRate = 8000;

/** Bits per code of G.726 while a terminal has not sent any: 32 kbit/s. */
const defaultG726CodeSize = 4;

/** Converts voice of 8 kHz mono to the audio of a terminal. Use one for each stream, as some codecs adapt. */
export interface VoiceEncoder {
  /** Payload type of the packets, JT/T 1078-2016 table 12. */
  readonly payloadType: number;
  /** Encodes one frame of 160 or 320 samples (20 or 40 ms). */
  encode(pcm: Int16Array): Buffer;
}

/** Options of an encoder. */
interface VoiceEncoderOptions {
  /** Adds the Hisilicon header that some terminals require. ADPCM always has it. */
  readonly hasHisiliconHeader?: boolean;
  /** Bits per code of G.726; 4 by default. */
  readonly g726CodeSize?: number;
}

/** Returns an encoder for the audio codec of 0x1003 (JT/T 1078-2016 table 12), or null for one that talk cannot use. */
export function createVoiceEncoder(codec: number, options: VoiceEncoderOptions = {}): VoiceEncoder | null {
  const frame = (data: Buffer): Buffer => (options.hasHisiliconHeader === true ? addHisiliconHeader(data) : data);
  switch (codec) {
    case PayloadType.G711A:
      return { payloadType: codec, encode: (pcm) => frame(encodeG711A(pcm)) };
    case PayloadType.G711U:
      return { payloadType: codec, encode: (pcm) => frame(encodeG711U(pcm)) };
    case PayloadType.G726: {
      const encoder = new G726Encoder(toCodeSize(options.g726CodeSize ?? defaultG726CodeSize));
      return { payloadType: codec, encode: (pcm) => frame(encoder.encode(pcm)) };
    }
    case PayloadType.ADPCMA: {
      const encoder = new AdpcmEncoder();
      return { payloadType: codec, encode: (pcm) => encoder.encode(pcm) };
    }
    default:
      return null;
  }
}

const toCodeSize = (bits: number): 2 | 3 | 4 | 5 => (bits === 2 || bits === 3 || bits === 5 ? bits : 4);

/** Decodes the voice of a terminal to 16-bit samples of 8 kHz. Use one for each stream. */
export class VoiceDecoder {
  readonly #g726Rate = new G726Rate();
  #g726: { readonly codeSize: number; readonly decoder: G726Decoder } | null = null;

  /** Decodes one audio frame; its timestamp decides between rates of G.726. Returns null for a codec that talk cannot use. */
  decode(payloadType: number, frame: Buffer, timestampMs: number | null = null): Int16Array | null {
    if (payloadType === PayloadType.ADPCMA) return decodeAdpcm(frame);
    const data = stripHisiliconHeader(frame);
    if (payloadType === PayloadType.G711A) return decodeG711A(data);
    if (payloadType === PayloadType.G711U) return decodeG711U(data);
    return payloadType === PayloadType.G726 ? this.#decodeG726(data, timestampMs) : null;
  }

  #decodeG726(data: Buffer, timestampMs: number | null): Int16Array {
    const codeSize = this.#g726Rate.find(data.length, timestampMs) ?? this.#g726?.codeSize ?? defaultG726CodeSize;
    if (this.#g726?.codeSize !== codeSize) this.#g726 = { codeSize, decoder: new G726Decoder(toCodeSize(codeSize)) };
    return this.#g726.decoder.decode(data);
  }
}
