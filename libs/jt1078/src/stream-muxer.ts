import { aacLcObjectType } from './aac.ts';
import { type AudioCounters, type AudioInfo, AudioMuxer, type TranscodeInput } from './audio-muxer.ts';
import { FlvSound } from './flv-audio.ts';
import { createScriptTag } from './flv-script.ts';
import type { FlvTag } from './flv-tag.ts';
import { flvH264, flvH265Legacy, flvHvc1 } from './flv-video.ts';
import type { MediaFrame } from './media-frame.ts';
import { StreamTimeline, type TimestampSource } from './stream-timeline.ts';
import { type VideoCounters, type VideoInfo, VideoMuxer } from './video-muxer.ts';

/** Sample rate and channels of AAC-LC, which a frame without ADTS does not declare. */
export interface AacFormat {
  readonly sampleRate: number;
  readonly channels: number;
}

/** Default form of AAC without ADTS, used by most JT/T 1078 cameras. */
export const defaultAacFormat: AacFormat = { sampleRate: 8000, channels: 1 };

/** Options of a muxer. Only `onTag` is required. */
export interface StreamMuxerOptions {
  /** Called for each tag, in the order for viewers. */
  onTag: (tag: FlvTag) => void;
  /** Called with audio that browsers cannot play; pass the transcoded frames to `pushTranscodedAac`. */
  onTranscode?: ((input: TranscodeInput) => void) | undefined;
  timestampSource?: TimestampSource | undefined;
  /** Form of AAC without ADTS; 8 kHz mono unless `onAacUnknown` is given. */
  aac?: AacFormat | undefined;
  /** Called on the first AAC without ADTS of unknown form; the audio starts after `setAac`. */
  onAacUnknown?: (() => void) | undefined;
  /** G.726 bits per code, for a device whose frame length is ambiguous. */
  g726CodeSize?: number | undefined;
  /** Sample rate of the frames that `pushTranscodedAac` gets, in Hz; makes their sequence header known before them. */
  transcodedSampleRate?: number | undefined;
}

/** Options of a viewer that affect the metadata. */
interface ViewerTracks {
  audio: 'none' | 'aac' | 'copy';
  /** True for `hevc=legacy`. */
  legacyHevc?: boolean | undefined;
}

/**
 * Converts frames of one (SIM, channel) to FLV tags. Use one instance per stream, across reconnects and seeks
 * (`restart`): its clock starts at 0 and never goes back.
 */
export class StreamMuxer {
  readonly #timeline: StreamTimeline;
  readonly #video: VideoMuxer;
  readonly #audio: AudioMuxer;
  readonly #transcodedSampleRate: number | null;

  constructor(options: StreamMuxerOptions) {
    const { onTag, onTranscode = () => undefined, onAacUnknown } = options;
    const aac = options.aac ?? (onAacUnknown === undefined ? defaultAacFormat : null);
    this.#transcodedSampleRate = options.transcodedSampleRate ?? null;
    this.#timeline = new StreamTimeline(options.timestampSource);
    this.#video = new VideoMuxer(this.#timeline, (tag) => {
      onTag(tag);
      if (!tag.isSequenceHeader) this.#audio.onPicture(tag.timestampMs);
    });
    this.#audio = new AudioMuxer(this.#timeline, {
      onTag,
      onTranscode,
      aac: aac === null ? null : { objectType: aacLcObjectType, ...aac },
      onAacUnknown: onAacUnknown ?? (() => undefined),
      g726CodeSize: options.g726CodeSize ?? null,
      transcodedSampleRate: this.#transcodedSampleRate,
    });
  }

  /** Properties of the video; null before the first key frame. */
  get video(): VideoInfo | null {
    return this.#video.info;
  }

  /** Properties of the camera's audio; null while there is none. */
  get audio(): AudioInfo | null {
    return this.#audio.info;
  }

  /** True while audio waits for `setAac`. */
  get isAacAwaited(): boolean {
    return this.#audio.isAacAwaited;
  }

  /** Sets the form of AAC without ADTS, unless frames with ADTS have already declared it. */
  setAac(format: AacFormat): void {
    this.#audio.setAac({ objectType: aacLcObjectType, ...format });
  }

  /** Latest sequence header, for joining viewers. */
  get videoSequenceHeader(): FlvTag | null {
    return this.#video.sequenceHeader;
  }

  /** The same for AAC; with `transcodedSampleRate` it is known before the first transcoded frame. */
  get audioSequenceHeader(): FlvTag | null {
    return this.#audio.sequenceHeader;
  }

  get counters(): Readonly<VideoCounters & AudioCounters> {
    return { ...this.#video.counters, ...this.#audio.counters };
  }

  /** Handles a frame, whose bytes are not used after the call. Ignores transparent data. */
  push(frame: MediaFrame): void {
    if (frame.kind === 'video') this.#video.push(frame);
    else if (frame.kind === 'audio') this.#audio.push(frame);
  }

  /**
   * Emits a picture that waits for further slices, as few devices require. Call it when the camera is quiet or
   * disconnected.
   */
  flush(): void {
    this.#video.flush();
  }

  /** Handles a new connection, seek or other speed: restarts the device clock and waits for a key frame. */
  restart(options: { timestampSource?: TimestampSource | undefined } = {}): void {
    this.#video.restart();
    this.#timeline.restart(options.timestampSource);
  }

  /** Handles another speed at the same position: restarts the device clock and continues with the next picture. */
  setTimestampSource(timestampSource: TimestampSource): void {
    this.#timeline.restart(timestampSource);
  }

  /** Emits a frame of the transcoder, including its ADTS header, at a time of `TranscodeClock`. */
  pushTranscodedAac(adtsFrame: Buffer, timestampMs: number): void {
    this.#audio.pushTranscoded(adtsFrame, timestampMs);
  }

  /** Creates the onMetaData tag of a viewer. */
  createMetadata(viewer: ViewerTracks): FlvTag {
    const { video, audio } = this;
    const hasAudio = viewer.audio !== 'none' && audio !== null;
    const isCopy = viewer.audio === 'copy' && audio?.needsTranscoding === true;
    return createScriptTag({
      duration: 0,
      width: video?.width,
      height: video?.height,
      videocodecid: video === null ? undefined : getVideoCodecId(video, viewer.legacyHevc ?? false),
      audiocodecid: hasAudio ? getAudioCodecId(audio, isCopy) : undefined,
      audiosamplerate: hasAudio
        ? ((audio.needsTranscoding && !isCopy ? this.#transcodedSampleRate : null) ?? audio.sampleRate)
        : undefined,
      audiosamplesize: hasAudio ? 16 : undefined,
      stereo: hasAudio ? audio.channels > 1 : undefined,
      hasVideo: video !== null,
      hasAudio,
      encoder: 'fleet',
    });
  }
}

function getVideoCodecId(video: VideoInfo, isLegacy: boolean): number {
  if (video.codec === 'h264') return flvH264;
  return isLegacy ? flvH265Legacy : flvHvc1;
}

function getAudioCodecId(audio: AudioInfo, isCopy: boolean): number {
  if (isCopy) return audio.codec === 'G711U' ? FlvSound.G711U : FlvSound.G711A;
  return audio.codec === 'MP3' || audio.codec === 'MPEGAUDIO' ? FlvSound.MP3 : FlvSound.AAC;
}
