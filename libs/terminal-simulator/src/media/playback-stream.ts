import type { RecordingSegment } from '../recordings.ts';
import type { Clip, ClipFrame } from './clip.ts';
import { frameAt } from './clip-cursor.ts';
import { FrameSender } from './frame-sender.ts';
import type { MediaLink } from './media-link.ts';
import { MediaStream, type MediaStreamOptions } from './media-stream.ts';

/** Modes of 0x9201: selection and order of the pictures. */
export type PlaybackMode = 'normal' | 'fastForward' | 'keyFrameRewind' | 'keyFrames' | 'singleFrame';

/** Options of one playback. */
interface PlaybackOptions extends MediaStreamOptions {
  /** Content of the recordings. */
  clip: Clip;
  segments: readonly RecordingSegment[];
  mode: PlaybackMode;
  /** Speed factor: 1, 2, 4, 8 or 16. */
  speed: number;
  hasVideo: boolean;
  hasAudio: boolean;
  /** Plays as fast as the network accepts it, for tests of back-pressure. */
  unpaced?: boolean | undefined;
}

/** Unsent bytes above which a playback waits, since it must not drop frames. */
const maxQueuedBytes = 256 * 1024;
/** Frames per tick of an unpaced playback. */
const framesPerTick = 200;

/**
 * Represents the playback of 0x9201: sends recordings once at the requested speed and closes at their end. Drops no
 * frame.
 */
export class PlaybackStream extends MediaStream {
  readonly #options: PlaybackOptions;
  #sender: FrameSender | null = null;
  #mode: PlaybackMode;
  #speed: number;
  #segmentIndex: number;
  /** Position of the next picture, in recorded time. */
  #positionMs: number;
  #nextAudioMs: number;
  /** Wall clock and recorded time of the same position; reset by every control. */
  #anchorWallMs = 0;
  #anchorRecordedMs = 0;

  constructor(options: PlaybackOptions) {
    super('history', options);
    this.#options = options;
    this.#mode = options.mode;
    this.#speed = options.speed;
    this.#segmentIndex = options.mode === 'keyFrameRewind' ? options.segments.length - 1 : 0;
    const first = options.segments[this.#segmentIndex];
    if (first === undefined) throw new RangeError('there is no recording to play');
    this.#positionMs = options.mode === 'keyFrameRewind' ? first.toMs : first.fromMs;
    this.#nextAudioMs = this.#positionMs;
  }

  /** Handles 0x9202 controls 0, 3, 4 and 6: continues from here in another mode. */
  play(mode: PlaybackMode, speed: number): void {
    this.#mode = mode;
    this.#speed = speed;
    this.#alignToKeyFrame();
    if (this.record.state === 'paused') this.resume();
    else this.#restart();
  }

  /**
   * Handles 0x9202 control 5. A position outside the recordings moves to the nearest later one, or ends the playback.
   */
  seek(recordedMs: number): void {
    const index = this.#options.segments.findIndex((segment) => segment.toMs > recordedMs);
    const segment = this.#options.segments[index];
    if (segment === undefined) {
      this.close('endOfRecording');
      return;
    }
    this.#segmentIndex = index;
    this.#positionMs = Math.max(recordedMs, segment.fromMs);
    this.#alignToKeyFrame();
    this.#restart();
  }

  protected override begin(link: MediaLink): void {
    this.#sender = new FrameSender(link, this.camera, this.record, this.frameLogLimit);
    this.#alignToKeyFrame();
    this.#restart();
  }

  protected override resumeClock(): void {
    this.#anchorWallMs = performance.now();
    this.#anchorRecordedMs = this.#positionMs;
    this.#nextAudioMs = this.#positionMs;
  }

  protected override tick(link: MediaLink): void {
    const sender = this.#sender;
    if (sender === null) return;
    for (let sent = 0; sent < framesPerTick; sent += 1) {
      if (link.queuedBytes > maxQueuedBytes) {
        link.whenDrained(() => this.schedule(0));
        return;
      }
      const waitMs = this.#waitMs();
      if (waitMs > 0) {
        this.schedule(waitMs);
        return;
      }
      if (!this.#sendNext(sender)) {
        this.close('endOfRecording');
        return;
      }
    }
    this.schedule(0);
  }

  #restart(): void {
    this.resumeClock();
    this.schedule(0);
  }

  get #isBackwards(): boolean {
    return this.#mode === 'keyFrameRewind';
  }

  #waitMs(): number {
    if (this.#options.unpaced === true) return 0;
    const recordedMs = Math.abs(this.#positionMs - this.#anchorRecordedMs);
    return this.#anchorWallMs + recordedMs / this.#speed - performance.now();
  }

  /** Sends the picture at the position and the audio up to it; returns false at the end. */
  #sendNext(sender: FrameSender): boolean {
    const segment = this.#options.segments[this.#segmentIndex];
    if (segment === undefined) return false;
    const { clip, hasVideo } = this.#options;
    const frame = this.#currentFrame(segment, clip);
    if (this.#mode === 'normal' && this.#options.hasAudio) this.#sendAudioUntil(sender, segment, this.#positionMs);
    if (hasVideo && (frame.isKeyFrame || this.#mode === 'normal' || this.#mode === 'fastForward')) {
      sender.sendVideo(clip, frame, Math.round(this.#positionMs));
    }
    if (this.#mode === 'singleFrame') {
      this.#positionMs = Number.POSITIVE_INFINITY;
      return false;
    }
    this.#advance(segment);
    return true;
  }

  #frameIndex(segment: RecordingSegment): number {
    return Math.round(((this.#positionMs - segment.fromMs) * this.#options.clip.spec.fps) / 1000);
  }

  #currentFrame(segment: RecordingSegment, clip: Clip): ClipFrame {
    return frameAt(clip.videoFrames, this.#frameIndex(segment));
  }

  #advance(segment: RecordingSegment): void {
    const everyFrame = this.#mode === 'normal' || this.#mode === 'fastForward';
    const direction = this.#isBackwards ? -1 : 1;
    const { clip } = this.#options;
    let index = this.#frameIndex(segment) + direction;
    if (!everyFrame) while (index > 0 && !frameAt(clip.videoFrames, index).isKeyFrame) index += direction;
    this.#positionMs = segment.fromMs + (index * 1000) / clip.spec.fps;
    if (index < 0) this.#enterSegment(this.#segmentIndex - 1);
    else if (this.#positionMs >= segment.toMs) this.#enterSegment(this.#segmentIndex + 1);
  }

  /** Moves to the adjacent recording; a gap between two takes no time to play. */
  #enterSegment(index: number): void {
    this.#segmentIndex = index;
    const segment = this.#options.segments[index];
    if (segment === undefined) return;
    this.#positionMs = this.#isBackwards ? segment.toMs : segment.fromMs;
    this.#alignToKeyFrame();
    this.resumeClock();
  }

  /** Moves back to the key frame on which the current picture depends. */
  #alignToKeyFrame(): void {
    const segment = this.#options.segments[this.#segmentIndex];
    if (segment === undefined || this.#positionMs === Number.POSITIVE_INFINITY) return;
    const { clip } = this.#options;
    let index = this.#frameIndex(segment);
    if (this.#isBackwards) index = Math.max(0, index - 1);
    while (index > 0 && !frameAt(clip.videoFrames, index).isKeyFrame) index -= 1;
    this.#positionMs = segment.fromMs + (index * 1000) / clip.spec.fps;
    this.#nextAudioMs = this.#positionMs;
  }

  #sendAudioUntil(sender: FrameSender, segment: RecordingSegment, untilMs: number): void {
    const { clip } = this.#options;
    if (clip.audioFrames.length === 0) return;
    while (this.#nextAudioMs <= untilMs) {
      const index = Math.round((this.#nextAudioMs - segment.fromMs) / clip.audioFrameMs);
      sender.sendAudio(clip, frameAt(clip.audioFrames, index), Math.round(this.#nextAudioMs));
      this.#nextAudioMs += clip.audioFrameMs;
    }
  }
}
