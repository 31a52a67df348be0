import { type AacConfig, aacFrameSamples, getSilentAacFrame, parseAudioSpecificConfig } from './aac.ts';
import type { FlvTag } from './flv-tag.ts';
import { parseH264Sps, type SpsInfo } from './h264.ts';
import { parseH265Sps } from './h265.ts';
import { createMp4Fragment, type Mp4Sample } from './mp4-fragment.ts';
import {
  createMp4InitSegment,
  formatAacCodecString,
  Mp4Track,
  type Mp4Video,
  mp4VideoTimescale,
} from './mp4-init-segment.ts';
import { readParameterSets, readVideoTag } from './read-video-tag.ts';
import type { VideoCodec } from './video-codec.ts';

/** Initialization segment of a stream. A later one replaces it when the format of the media changes. */
export interface Mp4Init {
  readonly data: Buffer;
  /** RFC 6381 strings, separated by commas. */
  readonly codecs: string;
  readonly width: number | null;
  readonly height: number | null;
}

/** One `moof` and `mdat`. */
export interface Mp4FragmentOutput {
  /** Buffers to write one after another. */
  readonly data: readonly Buffer[];
  readonly durationMs: number;
  /** True if it begins with a key frame; always for audio alone. */
  readonly isIndependent: boolean;
}

/** Options of a fragmenter. */
interface Mp4FragmenterOptions {
  /** Tracks of the output; tags of others are ignored. */
  readonly tracks: { readonly video: boolean; readonly audio: boolean };
  /** Length of a fragment, in addition to the cut before each key frame. */
  readonly fragmentMs: number;
  readonly onInit: (init: Mp4Init) => void;
  readonly onFragment: (fragment: Mp4FragmentOutput) => void;
}

/** Sequence headers that apply to a tag; null while a track has none. */
interface Mp4SequenceHeaders {
  readonly video: FlvTag | null;
  readonly audio: FlvTag | null;
}

interface HeldTag {
  readonly tag: FlvTag;
  readonly headers: Mp4SequenceHeaders;
}

interface PendingPicture {
  readonly dtsMs: number;
  readonly compositionMs: number;
  readonly data: Buffer;
  readonly isKeyFrame: boolean;
}

const aacSoundFormat = 10;
/** Duration of a picture whose successor is unknown. */
const defaultPictureMs = 40;
/** Time for which tags are held until the format of the audio is known, which the initialization segment declares. */
const maxAudioWaitMs = 2_000;
/** Difference between counted and received audio time at which the count is corrected. */
const maxAudioDriftMs = 150;
/** Longest gap between the ends of audio and video that is completed with silence. */
const maxSilenceMs = 1_000;
const videoUnitsPerMs = mp4VideoTimescale / 1000;

/**
 * Converts FLV tags of one stream to fragmented MP4: an initialization segment, then fragments that begin at key frames.
 * Supports H.264, H.265 and AAC; ignores other audio.
 */
export class Mp4Fragmenter {
  readonly #options: Mp4FragmenterOptions;
  #videoHeader: FlvTag | null = null;
  #audioHeader: FlvTag | null = null;
  #video: Mp4Video | null = null;
  #videoCodecString = '';
  #audio: AacConfig | null = null;
  #isInitDue = true;
  #pending: PendingPicture | null = null;
  #pictures: Mp4Sample[] = [];
  #pictureBaseMs = 0;
  #frames: Mp4Sample[] = [];
  #frameBase = 0;
  /** Decoding time of the next audio frame in samples; null before the first. */
  #nextFrameTime: number | null = null;
  #sequenceNumber = 0;
  /** Tags that wait for the format of the audio; null once it is known or given up. */
  #held: HeldTag[] | null;

  constructor(options: Mp4FragmenterOptions) {
    this.#options = options;
    this.#held = options.tracks.video && options.tracks.audio ? [] : null;
  }

  /** Handles a tag with the sequence headers that apply to it. */
  push(tag: FlvTag, headers: Mp4SequenceHeaders): void {
    if (tag.isSequenceHeader) return;
    if (this.#held === null) {
      this.#handle(tag, headers);
      return;
    }
    this.#held.push({ tag, headers });
    const sinceMs = this.#held[0]?.tag.timestampMs ?? 0;
    if (headers.audio !== null || tag.timestampMs - sinceMs >= maxAudioWaitMs) this.#releaseHeld(headers.audio);
  }

  /** Emits what has been collected, at the end of the stream. */
  flush(): void {
    this.#releaseHeld(null);
    if (this.#pending !== null) this.#addPending(this.#pending.dtsMs + defaultPictureMs);
    this.#completeAudio();
    this.#cut();
  }

  /**
   * Adds silence until the end of the last picture. Encoders deliver audio late, and hls.js reports no end of a stream
   * whose last pictures have no audio.
   */
  #completeAudio(): void {
    const silence = this.#audio === null ? undefined : getSilentAacFrame(this.#audio);
    if (this.#audio === null || silence === undefined || this.#nextFrameTime === null) return;
    const pictureUnits = this.#pictures.reduce((sum, { duration }) => sum + duration, 0);
    const { sampleRate } = this.#audio;
    const endTime = ((this.#pictureBaseMs + pictureUnits / videoUnitsPerMs) * sampleRate) / 1000;
    if (this.#pictures.length === 0 || endTime - this.#nextFrameTime > (maxSilenceMs * sampleRate) / 1000) return;
    while (this.#nextFrameTime < endTime) {
      if (this.#frames.length === 0) this.#frameBase = this.#nextFrameTime;
      this.#frames.push({ data: silence, duration: aacFrameSamples, compositionOffset: 0, isSync: true });
      this.#nextFrameTime += aacFrameSamples;
    }
  }

  #releaseHeld(audio: FlvTag | null): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const { tag, headers } of held) this.#handle(tag, { video: headers.video, audio: headers.audio ?? audio });
  }

  #handle(tag: FlvTag, headers: Mp4SequenceHeaders): void {
    if (tag.track === 'video' && this.#options.tracks.video) this.#pushVideo(tag, headers);
    else if (tag.track === 'audio' && this.#options.tracks.audio) this.#pushAudio(tag, headers.audio);
  }

  #pushVideo(tag: FlvTag, headers: Mp4SequenceHeaders): void {
    const picture = readVideoTag(tag.body);
    if (picture === null) return;
    if (this.#pending !== null) this.#addPending(tag.timestampMs);
    if (picture.isKeyFrame) {
      this.#cut();
      if (headers.video !== null) this.#setVideo(headers.video);
      if (headers.audio !== null) this.#setAudio(headers.audio);
      this.#emitInit();
    } else if (this.#isInitDue || this.#collectedMs(tag.timestampMs) >= this.#options.fragmentMs) this.#cut();
    if (this.#isInitDue) return;
    this.#pending = {
      dtsMs: tag.timestampMs,
      compositionMs: picture.compositionMs,
      data: picture.data,
      isKeyFrame: picture.isKeyFrame,
    };
  }

  #collectedMs(nowMs: number): number {
    return this.#pictures.length === 0 ? 0 : nowMs - this.#pictureBaseMs;
  }

  #addPending(nextDtsMs: number): void {
    const pending = this.#pending;
    if (pending === null) return;
    this.#pending = null;
    if (this.#pictures.length === 0) this.#pictureBaseMs = pending.dtsMs;
    this.#pictures.push({
      data: pending.data,
      duration: Math.max(1, nextDtsMs - pending.dtsMs) * videoUnitsPerMs,
      compositionOffset: pending.compositionMs * videoUnitsPerMs,
      isSync: pending.isKeyFrame,
    });
  }

  #pushAudio(tag: FlvTag, header: FlvTag | null): void {
    const { body } = tag;
    if ((body[0] ?? 0) >> 4 !== aacSoundFormat || body[1] !== 1) return;
    if (!this.#options.tracks.video && header !== null) {
      this.#setAudio(header);
      this.#emitInit();
    }
    const config = this.#audio;
    if (this.#isInitDue || config === null) return;
    const time = this.#audioTime(tag.timestampMs, config.sampleRate);
    if (this.#frames.length === 0) this.#frameBase = time;
    this.#frames.push({ data: body.subarray(2), duration: aacFrameSamples, compositionOffset: 0, isSync: true });
    const collectedMs = (this.#frames.length * aacFrameSamples * 1000) / config.sampleRate;
    if (!this.#options.tracks.video && collectedMs >= this.#options.fragmentMs) this.#cut();
  }

  /**
   * Returns the decoding time of the next audio frame in samples. It counts frames, because times in milliseconds would
   * leave small gaps, and follows the stream's clock after a loss.
   */
  #audioTime(timestampMs: number, sampleRate: number): number {
    const received = Math.round((timestampMs * sampleRate) / 1000);
    const counted = this.#nextFrameTime ?? received;
    const isDrifting = Math.abs(counted - received) > (maxAudioDriftMs * sampleRate) / 1000;
    // Frames that are already collected have no room for a gap: a new fragment begins after it.
    if (isDrifting && this.#frames.length > 0) this.#cut();
    const time = isDrifting && received > counted ? received : counted;
    this.#nextFrameTime = time + aacFrameSamples;
    return time;
  }

  #setVideo(header: FlvTag): void {
    if (header === this.#videoHeader) return;
    this.#videoHeader = header;
    const parsed = readVideoTag(header.body);
    const info = parsed === null ? null : parseSequenceParameterSet(parsed.codec, parsed.data);
    if (parsed === null || info === null) return;
    if (this.#video?.record.equals(parsed.data) === true) return;
    this.#video = { codec: parsed.codec, width: info.width, height: info.height, record: parsed.data };
    this.#videoCodecString = info.codecString;
    this.#isInitDue = true;
  }

  #setAudio(header: FlvTag): void {
    if (header === this.#audioHeader || !this.#options.tracks.audio) return;
    this.#audioHeader = header;
    const config =
      (header.body[0] ?? 0) >> 4 === aacSoundFormat ? parseAudioSpecificConfig(header.body.subarray(2)) : null;
    if (config === null) return;
    const { sampleRate, channels, objectType } = this.#audio ?? {};
    if (config.sampleRate === sampleRate && config.channels === channels && config.objectType === objectType) return;
    this.#cut();
    this.#audio = config;
    this.#nextFrameTime = null;
    this.#isInitDue = true;
  }

  #emitInit(): void {
    if (!this.#isInitDue) return;
    const { tracks } = this.#options;
    if (tracks.video && this.#video === null) return;
    const video = tracks.video ? this.#video : null;
    if (video === null && this.#audio === null) return;
    this.#isInitDue = false;
    this.#options.onInit({
      data: createMp4InitSegment({ video, audio: this.#audio }),
      codecs: [
        ...(video === null ? [] : [this.#videoCodecString]),
        ...(this.#audio === null ? [] : [formatAacCodecString(this.#audio)]),
      ].join(','),
      width: video?.width ?? null,
      height: video?.height ?? null,
    });
  }

  #cut(): void {
    const pictures = this.#pictures;
    const frames = this.#frames;
    if (pictures.length === 0 && frames.length === 0) return;
    this.#pictures = [];
    this.#frames = [];
    this.#sequenceNumber += 1;
    const data = createMp4Fragment(this.#sequenceNumber, [
      { trackId: Mp4Track.VIDEO, baseTime: this.#pictureBaseMs * videoUnitsPerMs, samples: pictures },
      { trackId: Mp4Track.AUDIO, baseTime: this.#frameBase, samples: frames },
    ]);
    const videoMs = pictures.reduce((sum, { duration }) => sum + duration, 0) / videoUnitsPerMs;
    const audioMs = (frames.length * aacFrameSamples * 1000) / (this.#audio?.sampleRate ?? 1000);
    this.#options.onFragment({
      data,
      durationMs: pictures.length > 0 ? videoMs : audioMs,
      isIndependent: pictures[0]?.isSync ?? !this.#options.tracks.video,
    });
  }
}

function parseSequenceParameterSet(codec: VideoCodec, record: Buffer): SpsInfo | null {
  const parse = codec === 'h264' ? parseH264Sps : parseH265Sps;
  for (const unit of readParameterSets(codec, record)) {
    const isSps = codec === 'h264' ? ((unit[0] ?? 0) & 0x1f) === 7 : (((unit[0] ?? 0) >> 1) & 0x3f) === 33;
    const info = isSps ? parse(unit) : null;
    if (info !== null) return info;
  }
  return null;
}
