import type { MediaFrame, TimestampSource } from '@fleet/jt1078';
import { DiscontinuityDetector } from './discontinuity-detector.ts';

/**
 * Follows the seek and speed commands (0x9202) of a recording. The camera's confirmation and the first frame of the new
 * position travel on different connections, and either may arrive first.
 */
export class PlaybackControl {
  readonly #detector: DiscontinuityDetector | null;
  #timestampSource: TimestampSource;
  /** Command in progress: the timestamp source after it, and whether its first frame has arrived. */
  #pending: { readonly timestampSource: TimestampSource; hasBegun: boolean } | null = null;

  constructor(kind: 'live' | 'history', timestampSource: TimestampSource) {
    this.#detector = kind === 'history' ? new DiscontinuityDetector() : null;
    this.#timestampSource = timestampSource;
  }

  get timestampSource(): TimestampSource {
    return this.#timestampSource;
  }

  /** Records a command that is being sent to the camera. By default the timestamp source stays the same. */
  expect(timestampSource: TimestampSource = this.#timestampSource): void {
    this.#pending = { timestampSource, hasBegun: false };
    this.#detector?.expect(performance.now());
  }

  /** Records the camera's confirmation. Returns true if the timestamp source has changed before any new position. */
  confirm(timestampSource?: TimestampSource): boolean {
    if (this.#pending?.hasBegun === true) {
      this.#pending = null;
      return false;
    }
    this.expect(timestampSource);
    if (timestampSource === undefined || timestampSource === this.#timestampSource) return false;
    this.#timestampSource = timestampSource;
    return true;
  }

  /** Records a frame. Returns true when it begins a new position, from which on the command's timestamp source applies. */
  isDiscontinuity(frame: MediaFrame): boolean {
    if (this.#detector?.isDiscontinuity(frame) !== true) return false;
    if (this.#pending !== null) {
      this.#timestampSource = this.#pending.timestampSource;
      this.#pending.hasBegun = true;
    }
    return true;
  }
}
