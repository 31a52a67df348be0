import type { Clip } from './clip.ts';
import { ClipCursor } from './clip-cursor.ts';
import { FrameSender } from './frame-sender.ts';
import type { MediaLink } from './media-link.ts';
import { MediaStream, type MediaStreamOptions } from './media-stream.ts';

/** Clips of the live streams of 0x9101: 0 main, 1 sub. */
type LiveClips = Readonly<Record<'main' | 'sub', Clip>>;

/** Options of one live stream. */
interface LiveStreamOptions extends MediaStreamOptions {
  clips: LiveClips;
  stream: 'main' | 'sub';
  hasVideo: boolean;
  hasAudio: boolean;
}

/** Unsent bytes above which a camera drops pictures until the next key frame. */
const maxQueuedBytes = 1 << 20;
/** Delay after which a camera skips frames: a busy machine delays them by less, a suspended one by more. */
const maxDelayMs = 10_000;

/** Represents the live stream of 0x9101: sends a clip in a loop, in real time, until it is stopped. */
export class LiveStream extends MediaStream {
  readonly #cursor: ClipCursor;
  readonly #clips: LiveClips;
  readonly #epochMs: number;
  #sender: FrameSender | null = null;
  #hasVideo: boolean;
  #hasAudio: boolean;
  #nextVideoMs = 0;
  #nextAudioMs = 0;
  #isDropping = false;

  constructor(options: LiveStreamOptions) {
    super('live', options);
    this.#clips = options.clips;
    this.#cursor = new ClipCursor(options.clips[options.stream]);
    this.#hasVideo = options.hasVideo;
    this.#hasAudio = options.hasAudio;
    this.#epochMs = Date.now() - performance.now();
  }

  /** Handles 0x9102 control 0: stops both, audio only or video only; closes the connection if nothing remains. */
  stopPart(part: 'all' | 'audio' | 'video'): void {
    if (part !== 'video') this.#hasAudio = false;
    if (part !== 'audio') this.#hasVideo = false;
    if (!this.#hasAudio && !this.#hasVideo) this.close('stopped');
  }

  /** Handles 0x9102 control 1: continues with the other stream from its next key frame. */
  switchStream(stream: 'main' | 'sub'): void {
    this.#cursor.switchTo(this.#clips[stream]);
  }

  protected override begin(link: MediaLink): void {
    this.#sender = new FrameSender(link, this.camera, this.record, this.frameLogLimit);
    this.resumeClock();
    this.schedule(0);
  }

  protected override resumeClock(): void {
    this.#nextVideoMs = performance.now();
    this.#nextAudioMs = this.#nextVideoMs;
    this.#cursor.skipToKeyFrame();
  }

  /** Sends all due frames. */
  protected override tick(link: MediaLink): void {
    const now = performance.now();
    const sender = this.#sender;
    if (sender === null) return;
    if (now - this.#nextVideoMs > maxDelayMs) this.resumeClock();
    while (this.#nextVideoMs <= now || this.#nextAudioMs <= now) {
      if (this.#nextVideoMs <= this.#nextAudioMs) this.#sendVideo(sender, link);
      else this.#sendAudio(sender);
    }
    this.schedule(Math.min(this.#nextVideoMs, this.#nextAudioMs) - now);
  }

  #sendVideo(sender: FrameSender, link: MediaLink): void {
    const { clip } = this.#cursor;
    const frame = this.#cursor.nextVideo();
    const timestampMs = Math.round(this.#epochMs + this.#nextVideoMs);
    this.#nextVideoMs += this.#cursor.videoFrameMs;
    if (!this.#hasVideo) return;
    if (link.queuedBytes > maxQueuedBytes) this.#isDropping = true;
    else if (frame.isKeyFrame) this.#isDropping = false;
    if (!this.#isDropping) sender.sendVideo(clip, frame, timestampMs);
  }

  #sendAudio(sender: FrameSender): void {
    const { clip } = this.#cursor;
    const frame = this.#cursor.nextAudio();
    const timestampMs = Math.round(this.#epochMs + this.#nextAudioMs);
    this.#nextAudioMs += frame === null ? 1000 : clip.audioFrameMs;
    if (frame !== null && this.#hasAudio && !this.#isDropping) sender.sendAudio(clip, frame, timestampMs);
  }
}
