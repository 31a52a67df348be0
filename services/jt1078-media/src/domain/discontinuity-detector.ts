import { DataType, type MediaFrame } from '@fleet/jt1078';

/** A camera that was asked for another place or speed shows it by then, or has refused. */
const expectationTimeoutMs = 15_000;
/** Presentation times of B frames go back by no more. */
const maxReorderMs = 1_000;
/** A step that is longer than this, and than several usual ones, is more than a picture or two that the camera left out. */
const minLeapMs = 250;
const leapSteps = 4;

interface LastFrame {
  timestamp: number;
  arrivalMs: number;
  meanMs: number;
}

/**
 * Finds the frame with which a recording goes on at another place after 0x9202. The camera's answer and its frames come by different ways, and either may
 * be first: only the timestamps tell where the old place ends. Looked for only while a command is under way, as cameras' clocks leap for other reasons too.
 */
export class DiscontinuityDetector {
  readonly #lastFrames = new Map<MediaFrame['kind'], LastFrame>();
  #expectedUntilMs = Number.NEGATIVE_INFINITY;

  /** A jump may come from now on. */
  expect(nowMs: number): void {
    this.#expectedUntilMs = nowMs + expectationTimeoutMs;
  }

  /** Notes a frame; true when the recording goes on at another place with it, after which no further jump is expected. */
  isDiscontinuity(frame: MediaFrame): boolean {
    const { timestampLow: timestamp, arrivalMs } = frame;
    const last = this.#lastFrames.get(frame.kind);
    if (last === undefined) {
      this.#lastFrames.set(frame.kind, { timestamp, arrivalMs, meanMs: 40 });
      return false;
    }
    // The lower 32 bits are enough for differences, through wraps as well.
    const stepMs = (timestamp - last.timestamp) | 0;
    const isDetected =
      arrivalMs < this.#expectedUntilMs && isLeap(frame, stepMs, arrivalMs - last.arrivalMs, last.meanMs);
    last.timestamp = timestamp;
    last.arrivalMs = arrivalMs;
    if (isDetected) {
      this.#expectedUntilMs = Number.NEGATIVE_INFINITY;
      // The other kind has yet to follow.
      this.#lastFrames.clear();
    } else if (stepMs > 0 && stepMs <= maxReorderMs) {
      last.meanMs += (stepMs - last.meanMs) / 8;
    }
    return isDetected;
  }
}

function isLeap(frame: MediaFrame, stepMs: number, elapsedMs: number, meanMs: number): boolean {
  // Only pictures are reordered, and none of them across a key frame.
  if (stepMs < 0) return stepMs < -maxReorderMs || frame.kind !== 'video' || frame.dataType === DataType.I;
  return stepMs - elapsedMs > Math.max(minLeapMs, leapSteps * meanMs);
}
