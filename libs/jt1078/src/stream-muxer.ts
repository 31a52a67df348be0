import { type AudioCounters, type AudioInfo, AudioMuxer, type TranscodeInput } from './audio-muxer.ts';
import { FlvSound } from './flv-audio.ts';
import { createScriptTag } from './flv-script.ts';
import type { FlvTag } from './flv-tag.ts';
import { flvH264, flvH265Legacy, flvHvc1 } from './flv-video.ts';
import type { MediaFrame } from './media-frame.ts';
import { StreamTimeline, type TimestampSource } from './stream-timeline.ts';
import { type VideoCounters, type VideoInfo, VideoMuxer } from './video-muxer.ts';

/** Sample rate and channels of AAC-LC, which a frame without ADTS does not state. */
export interface AacFormat {
  readonly sampleRate: number;
  readonly channels: number;
}

/** Form of AAC without ADTS from a device of which nothing is known (JT/T 1078 cameras mostly have it). */
export const defaultAacFormat: AacFormat = { sampleRate: 8000, channels: 1 };

/** Settings of a muxer; only `onTag` is needed. */
export interface StreamMuxerOptions {
  /** Tags in the order in which viewers get them. */
  onTag: (tag: FlvTag) => void;
  /** Audio that browsers do not play; what comes back goes to `pushTranscodedAac`. */
  onTranscode?: ((input: TranscodeInput) => void) | undefined;
  timestampSource?: TimestampSource | undefined;
  /** Form of AAC without ADTS; 8 kHz mono unless `onAacUnknown` finds it out. */
  aac?: AacFormat | undefined;
  /** AAC without ADTS has come: the sound begins with `setAac`. */
  onAacUnknown?: (() => void) | undefined;
  /** G.726 bits per code for a device whose frame length does not tell. */
  g726CodeSize?: number | undefined;
}

/** What a viewer has asked for, as far as metadata says it. */
export interface ViewerTracks {
  audio: 'none' | 'aac' | 'copy';
  /** `hevc=legacy` */
  legacyHevc?: boolean | undefined;
  /** AAC made from the camera's codec, when none has come out of the transcoder yet. */
  transcodedSampleRate?: number | undefined;
}

const aacLcObjectType = 2;

/**
 * Frames of one (SIM, channel) to FLV tags. Keep one for a stream, over reconnects and seeks (`restart`): its clock starts at
 * 0 and never goes back.
 */
export class StreamMuxer {
  readonly #timeline: StreamTimeline;
  readonly #video: VideoMuxer;
  readonly #audio: AudioMuxer;

  constructor(options: StreamMuxerOptions) {
    const { onTag, onTranscode = () => undefined, onAacUnknown } = options;
    const aac = options.aac ?? (onAacUnknown === undefined ? defaultAacFormat : null);
    this.#timeline = new StreamTimeline(options.timestampSource);
    this.#video = new VideoMuxer(this.#timeline, onTag);
    this.#audio = new AudioMuxer(this.#timeline, {
      onTag,
      onTranscode,
      aac: aac === null ? null : { objectType: aacLcObjectType, ...aac },
      onAacUnknown: onAacUnknown ?? (() => undefined),
      g726CodeSize: options.g726CodeSize ?? null,
    });
  }

  /** The pictures, null before the first key frame. */
  get video(): VideoInfo | null {
    return this.#video.info;
  }

  /** The camera's audio, null while there is none. */
  get audio(): AudioInfo | null {
    return this.#audio.info;
  }

  /** True while sound waits for `setAac`. */
  get isAacAwaited(): boolean {
    return this.#audio.isAacAwaited;
  }

  /** Sets the form of AAC without ADTS, unless frames with ADTS have stated it. */
  setAac(format: AacFormat): void {
    this.#audio.setAac({ objectType: aacLcObjectType, ...format });
  }

  /** The latest sequence headers, for viewers that join. */
  get videoSequenceHeader(): FlvTag | null {
    return this.#video.sequenceHeader;
  }

  get audioSequenceHeader(): FlvTag | null {
    return this.#audio.sequenceHeader;
  }

  get counters(): Readonly<VideoCounters & AudioCounters> {
    return { ...this.#video.counters, ...this.#audio.counters };
  }

  /** Takes a frame; its bytes are not used after the call. Transparent data is ignored. */
  push(frame: MediaFrame): void {
    if (frame.kind === 'video') this.#video.push(frame);
    else if (frame.kind === 'audio') this.#audio.push(frame);
  }

  /** The camera is gone or quiet: emits a picture that waits for further slices (few devices need that). */
  flush(): void {
    this.#video.flush();
  }

  /** New connection, seek or other speed: the device's clock starts again, video waits for a key frame. */
  restart(options: { timestampSource?: TimestampSource | undefined } = {}): void {
    this.#video.restart();
    this.#timeline.restart(options.timestampSource);
  }

  /** Other speed at the same place: the device's clock starts again, pictures go on. */
  setTimestampSource(timestampSource: TimestampSource): void {
    this.#timeline.restart(timestampSource);
  }

  /** A frame from the transcoder, ADTS header included, at a time of `TranscodeClock`. */
  pushTranscodedAac(adtsFrame: Buffer, timestampMs: number): void {
    this.#audio.pushTranscoded(adtsFrame, timestampMs);
  }

  /** The onMetaData tag for a viewer. */
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
        ? ((audio.needsTranscoding && !isCopy ? viewer.transcodedSampleRate : undefined) ?? audio.sampleRate)
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
