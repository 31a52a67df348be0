import { PayloadType } from '@fleet/jt1078';
import { getAudioFormat } from './media/audio-frames.ts';
import type { Clip } from './media/clip.ts';
import { LiveStream } from './media/live-stream.ts';
import type { MediaTarget } from './media/media-link.ts';
import type { MediaStream } from './media/media-stream.ts';
import { type PlaybackMode, PlaybackStream } from './media/playback-stream.ts';
import { pushBounded, type StreamKind, type StreamRecord } from './media/stream-record.ts';
import { TalkStream } from './media/talk-stream.ts';
import type { RecordingSegment } from './recordings.ts';
import type { ClipProvider, ResolvedOptions } from './terminal-options.ts';

/** The fields of 0x9101 that the camera needs. */
interface LiveRequest {
  channel: number;
  target: MediaTarget;
  /** 0 audio and video, 1 video, 2 intercom, 3 listen, 4 broadcast, 5 transparent. */
  dataType: number;
  stream: 'main' | 'sub';
}

/** The fields of 0x9201 that the camera needs. */
interface PlaybackRequest {
  channel: number;
  target: MediaTarget;
  segments: readonly RecordingSegment[];
  mode: PlaybackMode;
  speed: number;
  /** 0 audio and video, 1 audio, 2 video, 3 video with or without audio. */
  mediaType: number;
}

/** Number of stream records to retain. */
const streamLogLimit = 200;

/** Manages the cameras of one terminal. Each channel has at most one live stream and one playback at a time. */
export class Cameras {
  /** All streams, oldest first. */
  readonly records: StreamRecord[] = [];
  readonly #options: ResolvedOptions;
  readonly #runningStreams = new Map<string, MediaStream>();

  constructor(options: ResolvedOptions) {
    this.#options = options;
  }

  /** Returns true if the terminal has a camera on the channel. */
  hasChannel(channel: number): boolean {
    return this.#options.clips !== undefined && channel >= 1 && channel <= this.#options.channels;
  }

  /** Returns the clip of a channel. */
  clip(channel: number, stream: 'main' | 'sub'): Promise<Clip> {
    return this.#requireClips()(channel, stream);
  }

  /** Returns the running stream of a channel. */
  findRunning(kind: StreamKind, channel: number): MediaStream | undefined {
    return this.#runningStreams.get(`${kind}:${channel}`);
  }

  /** Starts a live stream or talk; closes the running one of the channel. */
  async startLive(request: LiveRequest): Promise<void> {
    if (request.dataType === 2 || request.dataType === 4) return this.#startTalk(request);
    const [main, sub] = await Promise.all([this.clip(request.channel, 'main'), this.clip(request.channel, 'sub')]);
    const { dataType } = request;
    const stream = new LiveStream({
      ...this.#commonOptions('live', request),
      clips: { main, sub },
      stream: request.stream,
      hasVideo: dataType === 0 || dataType === 1,
      hasAudio: dataType === 0 || dataType === 3,
    });
    await this.#startStream('live', request.channel, stream);
  }

  async #startTalk({ channel, target, dataType }: LiveRequest): Promise<void> {
    const { camera, voice = {} } = this.#options;
    const stream = new TalkStream({
      ...this.#commonOptions('talk', { channel, target }),
      codec: getAudioFormat(camera.audio)?.payloadType ?? PayloadType.G711A,
      voice,
      isSpeaking: dataType === 2,
    });
    await this.#startStream('talk', channel, stream);
  }

  /** Handles 0x9102; returns false if no stream is running. */
  controlLive(channel: number, control: number, closeType: number, streamType: number): boolean {
    const stream = this.findRunning('live', channel);
    const talk = this.findRunning('talk', channel);
    if (talk !== undefined && (control === 4 || (control === 0 && stream === undefined))) {
      talk.close('stopped');
      return true;
    }
    if (!(stream instanceof LiveStream)) return false;
    if (control === 0) stream.stopPart((['all', 'audio', 'video'] as const)[closeType] ?? 'all');
    else if (control === 1) stream.switchStream(streamType === 0 ? 'main' : 'sub');
    else if (control === 2) stream.pause();
    else if (control === 3) stream.resume();
    else return false;
    return true;
  }

  /** Starts a playback; closes the running one of the channel. */
  async startPlayback(request: PlaybackRequest): Promise<void> {
    const { segments, mode, speed, mediaType } = request;
    const stream = new PlaybackStream({
      ...this.#commonOptions('history', request),
      clip: await this.clip(request.channel, 'main'),
      segments,
      mode,
      speed,
      hasVideo: mediaType !== 1,
      hasAudio: mediaType !== 2,
      unpaced: this.#options.unpacedPlayback,
    });
    await this.#startStream('history', request.channel, stream);
  }

  /**
   * Handles 0x9202; returns false if no playback is running. `seekMs` is the position of control 5, in milliseconds
   * since 1970.
   */
  controlPlayback(channel: number, control: number, speed: number, seekMs: number | null): boolean {
    const stream = this.findRunning('history', channel);
    if (!(stream instanceof PlaybackStream)) return false;
    if (control === 0) stream.play('normal', 1);
    else if (control === 1) stream.pause();
    else if (control === 2) stream.close('stopped');
    else if (control === 3) stream.play('fastForward', speed);
    else if (control === 4) stream.play('keyFrameRewind', speed);
    else if (control === 5 && seekMs !== null) stream.seek(seekMs);
    else if (control === 6) stream.play('keyFrames', 1);
    else return false;
    return true;
  }

  /** Closes all streams. */
  closeAll(reason: string): void {
    for (const stream of Array.from(this.#runningStreams.values())) stream.close(reason);
  }

  #requireClips(): ClipProvider {
    const { clips } = this.#options;
    if (clips === undefined) throw new Error('this terminal has no cameras: set the option clips');
    return clips;
  }

  #commonOptions(kind: StreamKind, request: { channel: number; target: MediaTarget }) {
    const { phone, mediaSimBytes, mediaHost, media, logLimit } = this.#options;
    const sim = mediaSimBytes === 6 ? phone.slice(-12) : phone;
    const key = `${kind}:${request.channel}`;
    return {
      camera: { sim, simBytes: mediaSimBytes, channel: request.channel },
      target: { ...request.target, host: mediaHost ?? request.target.host },
      media,
      frameLogLimit: logLimit,
      onEnd: (endedStream: MediaStream): void => {
        if (this.#runningStreams.get(key) === endedStream) this.#runningStreams.delete(key);
        const { target, endReason } = endedStream.record;
        this.#options.onLog?.(`channel ${request.channel}: ${kind} to ${target} ended (${endReason})`);
      },
    };
  }

  async #startStream(kind: StreamKind, channel: number, stream: MediaStream): Promise<void> {
    const key = `${kind}:${channel}`;
    this.#runningStreams.get(key)?.close('replaced');
    this.#runningStreams.set(key, stream);
    pushBounded(this.records, stream.record, streamLogLimit);
    this.#options.onLog?.(`channel ${channel}: ${kind} to ${stream.record.target}`);
    await stream.open();
  }
}
