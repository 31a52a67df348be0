import type { Clip, ClipFrame } from './clip.ts';

/** Iterates over a clip forever. */
export class ClipCursor {
  clip: Clip;
  #video = 0;
  #audio = 0;

  constructor(clip: Clip) {
    this.clip = clip;
  }

  /** Duration of one picture. */
  get videoFrameMs(): number {
    return 1000 / this.clip.spec.fps;
  }

  /** Switches to another clip (main or sub stream) at its first picture, which is a key frame. */
  switchTo(clip: Clip): void {
    this.clip = clip;
    this.#video = 0;
    this.#audio = 0;
  }

  /** Returns the next picture. */
  nextVideo(): ClipFrame {
    const frame = frameAt(this.clip.videoFrames, this.#video);
    this.#video += 1;
    return frame;
  }

  /** Returns the next audio frame, or null if the clip has no audio. */
  nextAudio(): ClipFrame | null {
    if (this.clip.audioFrames.length === 0) return null;
    const frame = frameAt(this.clip.audioFrames, this.#audio);
    this.#audio += 1;
    return frame;
  }

  /** Skips pictures until the next one is a key frame. */
  skipToKeyFrame(): void {
    while (!frameAt(this.clip.videoFrames, this.#video).isKeyFrame) this.#video += 1;
  }
}

/** Returns the frame at a running index of a looping clip. */
export function frameAt(frames: readonly ClipFrame[], index: number): ClipFrame {
  const frame = frames[((index % frames.length) + frames.length) % frames.length];
  if (frame === undefined) throw new RangeError('the clip has no frames');
  return frame;
}
