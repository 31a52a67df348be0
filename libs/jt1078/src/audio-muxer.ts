import { type AacConfig, aacFrameSamples, aacLcObjectType, getSilentAacFrame, parseAdts } from './aac.ts';
import { decodeAdpcm } from './adpcm.ts';
import { createAacSequenceHeader, createAacTag, createG711Tag, createMp3Tag } from './flv-audio.ts';
import type { FlvTag } from './flv-tag.ts';
import { toS16le } from './g711.ts';
import { G726Rate } from './g726-rate.ts';
import { stripHisiliconHeader } from './hisilicon.ts';
import type { MediaFrame } from './media-frame.ts';
import { parseMp3 } from './mp3.ts';
import type { StreamTimeline } from './stream-timeline.ts';
import { getPayloadTypeName, PayloadType } from './tables.ts';

/** Audio that browsers cannot play: the input parameters of ffmpeg and the raw bytes. */
export interface TranscodeInput {
  /** Value of ffmpeg's `-f`. */
  format: 'alaw' | 'mulaw' | 'g726le' | 's16le' | 's16be' | 'g722' | 'amrnb';
  /** Bits per code of G.726 (`-code_size`), otherwise null. */
  codeSize: number | null;
  sampleRate: number;
  channels: number;
  /** Owned by the receiver. */
  data: Buffer;
  /** Time of the first sample on the stream's clock. */
  timestampMs: number;
  durationMs: number;
}

/** Audio as sent by the camera. */
export interface AudioInfo {
  /** Name of the payload type. */
  codec: string;
  sampleRate: number;
  channels: number;
  needsTranscoding: boolean;
  /** True if FLV supports the codec, as `audio=copy` requires. */
  canCopy: boolean;
}

/** Counters of a stream's audio. */
export interface AudioCounters {
  audioFrames: number;
  /** Frames of an unknown codec or with invalid content. */
  droppedAudioFrames: number;
}

/** Options of the audio muxer. */
interface AudioMuxerOptions {
  onTag: (tag: FlvTag) => void;
  onTranscode: (input: TranscodeInput) => void;
  /** Form of AAC without ADTS; null while it is unknown. */
  aac: AacConfig | null;
  /** Called on the first AAC frame without ADTS while `aac` is unknown. Such frames are dropped until `setAac`. */
  onAacUnknown: () => void;
  g726CodeSize: number | null;
  /** Sample rate of transcoded frames; null if it is unknown. */
  transcodedSampleRate: number | null;
}

const defaultSampleRate = 8000;
const g722SampleRate = 16_000;
/** Length of pictures without any audio after which the camera has stopped sending it. */
const silenceAfterMs = 1_500;
/** Bytes of a 20 ms AMR-NB frame by mode, including the header byte. */
const amrFrameBytes = [13, 14, 16, 18, 20, 21, 27, 32, 6];

type TranscodeRequest = Pick<TranscodeInput, 'format' | 'data' | 'durationMs'> &
  Partial<Pick<TranscodeInput, 'codeSize' | 'sampleRate' | 'channels'>>;

/** Converts audio frames to FLV tags where FLV and browsers support the codec, otherwise to transcoder input. */
export class AudioMuxer {
  readonly counters: AudioCounters = { audioFrames: 0, droppedAudioFrames: 0 };
  info: AudioInfo | null = null;
  /** Header of the AAC that is emitted, or that is expected from the transcoder; null while it is unknown. */
  sequenceHeader: FlvTag | null = null;
  readonly #timeline: StreamTimeline;
  readonly #options: AudioMuxerOptions;
  #config: AacConfig | null = null;
  #emittedHeader: FlvTag | null = null;
  #sourceConfig: AacConfig | null;
  #isAacRequested = false;
  readonly #g726Rate = new G726Rate();
  #lastMs = 0;
  /** End of the last AAC frame. */
  #endMs = 0;
  /** End of the silence that stands for missing audio. */
  #silenceEndMs = 0;
  #pictureMs = 0;
  /** Time of the picture before the last audio; null while there was none. */
  #audioAtPictureMs: number | null = null;

  constructor(timeline: StreamTimeline, options: AudioMuxerOptions) {
    this.#timeline = timeline;
    this.#options = options;
    this.#sourceConfig = options.aac;
  }

  push(frame: MediaFrame): void {
    const data = stripHisiliconHeader(frame.data);
    if (data.length === 0) return;
    this.#audioAtPictureMs = this.#pictureMs;
    if (this.#handleFrame(frame, data)) this.counters.audioFrames++;
    else this.counters.droppedAudioFrames++;
  }

  /** True from the first frame of unknown form until `setAac`. */
  get isAacAwaited(): boolean {
    return this.#isAacRequested && this.#sourceConfig === null;
  }

  /** Sets the form of AAC without ADTS. */
  setAac(config: AacConfig): void {
    this.#sourceConfig ??= config;
  }

  /**
   * Handles the time of a picture: emits silence up to it if the camera has stopped sending audio. Browsers wait for audio
   * that was declared, and would show no further picture.
   */
  onPicture(timestampMs: number): void {
    this.#pictureMs = timestampMs;
    if (this.#audioAtPictureMs === null || timestampMs - this.#audioAtPictureMs < silenceAfterMs) return;
    const silence = this.#config === null ? undefined : getSilentAacFrame(this.#config);
    if (this.#config === null || silence === undefined) return;
    const durationMs = getFrameMs(this.#config);
    let startMs = Math.max(this.#endMs, timestampMs - silenceAfterMs);
    for (; startMs + durationMs <= timestampMs; startMs += durationMs) {
      this.#emitAac(this.#config, silence, startMs);
      this.#silenceEndMs = startMs + durationMs;
    }
  }

  /** Emits a frame of the transcoder, which includes its ADTS header. */
  pushTranscoded(adts: Buffer, timestampMs: number): void {
    const header = parseAdts(adts);
    if (header) this.#emitAac(header, adts.subarray(header.headerBytes, header.frameBytes), timestampMs);
  }

  #handleFrame(frame: MediaFrame, data: Buffer): boolean {
    switch (frame.payloadType) {
      case PayloadType.G711A:
        return this.#handleG711(frame, data, 'alaw');
      case PayloadType.G711U:
        return this.#handleG711(frame, data, 'mulaw');
      case PayloadType.G726:
        return this.#handleG726(frame, data);
      case PayloadType.ADPCMA:
        return this.#handleAdpcm(frame);
      case PayloadType.AAC:
      case PayloadType.HEAAC:
      case PayloadType.AACLC:
      case PayloadType.MP4AUDIO:
        return this.#handleAac(frame, data);
      case PayloadType.MP3:
      case PayloadType.MPEGAUDIO:
        return this.#handleMp3(frame, data);
      default:
        return this.#handleOther(frame, data);
    }
  }

  #handleG711(frame: MediaFrame, data: Buffer, law: 'alaw' | 'mulaw'): boolean {
    const timestampMs = this.#transcode(
      frame,
      { format: law, data: Buffer.from(data), durationMs: data.length / 8 },
      true,
    );
    this.#options.onTag(createG711Tag(law, data, timestampMs));
    return true;
  }

  #handleG726(frame: MediaFrame, data: Buffer): boolean {
    const codeSize = this.#options.g726CodeSize ?? this.#g726Rate.find(data.length, frame.timestampLow);
    if (codeSize === null) return false;
    this.#transcode(frame, { format: 'g726le', codeSize, data: Buffer.from(data), durationMs: data.length / codeSize });
    return true;
  }

  #handleAdpcm(frame: MediaFrame): boolean {
    const pcm = decodeAdpcm(frame.data);
    if (pcm.length === 0) return false;
    this.#transcode(frame, { format: 's16le', data: toS16le(pcm), durationMs: pcm.length / 8 });
    return true;
  }

  #handleOther(frame: MediaFrame, data: Buffer): boolean {
    const copy = (): Buffer => Buffer.from(data);
    switch (frame.payloadType) {
      case PayloadType.S16BE_MONO:
        this.#transcode(frame, { format: 's16be', data: copy(), durationMs: data.length / 16 });
        return true;
      case PayloadType.S16BE_STEREO:
        this.#transcode(frame, { format: 's16be', data: copy(), durationMs: data.length / 32, channels: 2 });
        return true;
      case PayloadType.G722:
        this.#transcode(frame, {
          format: 'g722',
          data: copy(),
          durationMs: data.length / 8,
          sampleRate: g722SampleRate,
        });
        return true;
      case PayloadType.AMR: {
        const frames = countAmrFrames(data);
        if (frames > 0) this.#transcode(frame, { format: 'amrnb', data: copy(), durationMs: frames * 20 });
        return frames > 0;
      }
      default:
        return false;
    }
  }

  /**
   * Handles AAC, normally with ADTS headers (one or more frames). Without them the known form of the device applies.
   */
  #handleAac(frame: MediaFrame, data: Buffer): boolean {
    let at = 0;
    let frames = 0;
    for (;;) {
      const header = parseAdts(data, at);
      if (header === null || at + header.frameBytes > data.length) break;
      const config = { objectType: header.objectType, sampleRate: header.sampleRate, channels: header.channels };
      this.#sourceConfig = config;
      this.#emitAacFrame(frame, config, data.subarray(at + header.headerBytes, at + header.frameBytes));
      at += header.frameBytes;
      frames++;
    }
    if (frames > 0) return true;
    const looksLikeAdts = data[0] === 0xff && ((data[1] ?? 0) & 0xf6) === 0xf0;
    if (looksLikeAdts) return false;
    if (this.#sourceConfig === null) {
      this.#requestAac();
      return false;
    }
    this.#emitAacFrame(frame, this.#sourceConfig, data);
    return true;
  }

  #requestAac(): void {
    if (this.#isAacRequested) return;
    this.#isAacRequested = true;
    this.#options.onAacUnknown();
  }

  #emitAacFrame(frame: MediaFrame, config: AacConfig, raw: Buffer): void {
    this.#setInfo(frame.payloadType, config.sampleRate, config.channels, false, true);
    const durationMs = getFrameMs(config);
    this.#emitAac(config, raw, this.#timeline.audioTime(frame.timestampLow, frame.arrivalMs, durationMs));
  }

  #handleMp3(frame: MediaFrame, data: Buffer): boolean {
    const header = parseMp3(data);
    if (header === null) return false;
    this.#setInfo(frame.payloadType, header.sampleRate, header.channels, false, true);
    this.#config = null;
    this.sequenceHeader = null;
    const durationMs = (header.samples * 1000) / header.sampleRate;
    const timestampMs = this.#timeline.audioTime(frame.timestampLow, frame.arrivalMs, durationMs);
    this.#options.onTag(createMp3Tag(data, header, timestampMs));
    return true;
  }

  #emitAac(config: AacConfig, raw: Buffer, timestampMs: number): void {
    // Late audio whose time has passed in silence.
    if (timestampMs + getFrameMs(config) / 2 < this.#silenceEndMs) return;
    const at = Math.max(this.#lastMs, timestampMs);
    this.#lastMs = at;
    this.#endMs = at + getFrameMs(config);
    this.#setConfig(config);
    if (this.sequenceHeader !== null && this.sequenceHeader !== this.#emittedHeader) {
      this.#emittedHeader = this.sequenceHeader;
      this.#options.onTag(this.sequenceHeader);
    }
    this.#options.onTag(createAacTag(raw, at));
  }

  #setConfig({ objectType, sampleRate, channels }: AacConfig): void {
    const known = this.#config;
    const isSame = known?.sampleRate === sampleRate && known.channels === channels && known.objectType === objectType;
    if (isSame) return;
    this.#config = { objectType, sampleRate, channels };
    this.sequenceHeader = createAacSequenceHeader(this.#config, this.#lastMs);
  }

  #transcode(frame: MediaFrame, request: TranscodeRequest, canCopy = false): number {
    const { format, data, durationMs, sampleRate = defaultSampleRate, channels = 1, codeSize = null } = request;
    this.#setInfo(frame.payloadType, sampleRate, channels, true, canCopy);
    const { transcodedSampleRate } = this.#options;
    if (transcodedSampleRate !== null)
      this.#setConfig({ objectType: aacLcObjectType, sampleRate: transcodedSampleRate, channels });
    const timestampMs = this.#timeline.audioTime(frame.timestampLow, frame.arrivalMs, durationMs);
    this.#options.onTranscode({ format, codeSize, sampleRate, channels, data, timestampMs, durationMs });
    return timestampMs;
  }

  #setInfo(
    payloadType: number,
    sampleRate: number,
    channels: number,
    needsTranscoding: boolean,
    canCopy: boolean,
  ): void {
    const codec = getPayloadTypeName(payloadType);
    const { info } = this;
    if (info?.codec === codec && info.sampleRate === sampleRate && info.channels === channels) return;
    this.info = { codec, sampleRate, channels, needsTranscoding: needsTranscoding, canCopy };
  }
}

const getFrameMs = ({ sampleRate }: AacConfig): number => (aacFrameSamples * 1000) / sampleRate;

/** Counts the AMR-NB frames in a body. Returns 0 when it does not consist of whole frames. */
function countAmrFrames(data: Buffer): number {
  let frames = 0;
  let at = 0;
  while (at < data.length) {
    const bytes = amrFrameBytes[((data[at] ?? 0) >> 3) & 0x0f];
    if (bytes === undefined) return 0;
    at += bytes;
    frames++;
  }
  return at === data.length ? frames : 0;
}
