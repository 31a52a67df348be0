import { DataType, type MediaFrame } from '@fleet/jt1078';

/** Time within which a camera executes or refuses a seek or speed command. */
const expectationTimeoutMs = 15_000;
/** Maximum backward step of presentation times caused by B frames. */
const maxReorderMs = 1_000;
/** A longer step, which also exceeds several usual ones, is more than one or two pictures left out by the camera. */
const minLeapMs = 250;
const leapSteps = 4;

interface LastFrame {
  timestamp: number;
  arrivalMs: number;
  meanMs: number;
}

/**
 * Detects the first frame of a recording's new position after 0x9202. The camera's response and its frames travel on
 * different connections, and either may arrive first. Only the timestamps show where the old position ends. Detection
 * is active only during a command, as camera clocks leap for other reasons, too.
 */
export class DiscontinuityDetector {
  readonly #lastFrames = new Map<MediaFrame['kind'], LastFrame>();
  #expectedUntilMs = Number.NEGATIVE_INFINITY;

  /** Expects a jump from now on. */
  expect(nowMs: number): void {
    this.#expectedUntilMs = nowMs + expectationTimeoutMs;
  }

  /** Records a frame. Returns true when it begins a new position, after which no further jump is expected. */
  isDiscontinuity(frame: MediaFrame): boolean {
    const { timestampLow: timestamp, arrivalMs } = frame;
    const last = this.#lastFrames.get(frame.kind);
    if (last === undefined) {
      this.#lastFrames.set(frame.kind, { timestamp, arrivalMs, meanMs: 40 });
      return false;
    }
    // The lower 32 bits are sufficient for differences, even across wraps.
    const stepMs = (timestamp - last.timestamp) | 0;
    const isDetected =
      arrivalMs < this.#expectedUntilMs && isLeap(frame, stepMs, arrivalMs - last.arrivalMs, last.meanMs);
    last.timestamp = timestamp;
    last.arrivalMs = arrivalMs;
    if (isDetected) {
      this.#expectedUntilMs = Number.NEGATIVE_INFINITY;
      // The other kind of media has yet to jump.
      this.#lastFrames.clear();
    } else if (stepMs > 0 && stepMs <= maxReorderMs) {
      last.meanMs += (stepMs - last.meanMs) / 8;
    }
    return isDetected;
  }
}

function isLeap(frame: MediaFrame, stepMs: number, elapsedMs: number, meanMs: number): boolean {
  // Only video is reordered, and never across a key frame.
  if (stepMs < 0) return stepMs < -maxReorderMs || frame.kind !== 'video' || frame.dataType === DataType.I;
  return stepMs - elapsedMs > Math.max(minLeapMs, leapSteps * meanMs);
}
