/** Source of the output time: the device's clock, or arrival (playback faster than 1x, rewind). */
export type TimestampSource = 'device' | 'arrival';

/** Maximum plausible step. A longer or backward one is a jump of the device's clock. */
const maxStepMs = 3000;
/** Maximum backward step of presentation times caused by B frames. */
const maxReorderMs = 1000;
/** Drift from the device's clock up to which audio follows its samples. */
const maxAudioDriftMs = 200;
/** Time without progress after which a clock is considered stuck. */
const stuckClockMs = 1000;
/** Time for which the device's clock is compared with arrival before its unit (ms or 90 kHz) is determined. */
const rateWindowMs = 2000;

/** Returns a timestamp difference. The lower 32 bits are sufficient, even with wraps and garbage in the upper half. */
const timestampDifference = (later: number, earlier: number): number => (later - earlier) | 0;

/** Device clock of one kind of media (video or audio). */
class DeviceClock {
  lastTimestamp: number | null = null;
  lastArrivalMs = 0;
  /** Output time of the last packet; with B frames it may be below `highestOutputMs`. */
  lastOutputMs = 0;
  highestOutputMs = 0;
  meanMs: number;
  /** Ticks per ms. */
  scale = 1;
  #plausibleSteps = 0;
  #stuckCount = 0;
  #stuckSinceMs = 0;
  #stuckAt = 0;
  /** Point at which arrival time replaced a stuck clock. */
  #arrival: { sinceMs: number; at: number } | null = null;
  #windowTicks = 0;
  #windowSinceMs = 0;
  #windowCount = 0;

  constructor(meanMs: number) {
    this.meanMs = meanMs;
  }

  /** Returns the device time in ms from the last packet to one with this timestamp. */
  elapsedSince(timestamp: number): number {
    return timestampDifference(timestamp, this.lastTimestamp ?? timestamp) / this.scale;
  }

  /**
   * Returns true for a step that is used as is. At first, a step far ahead of arrival is rejected, as 90 kHz looks like
   * that.
   */
  isPlausible(deltaMs: number, arrivalMs: number, mayGoBack: boolean): boolean {
    if (deltaMs < 0) return mayGoBack && deltaMs >= -maxReorderMs;
    if (deltaMs > maxStepMs) return false;
    return this.#plausibleSteps >= 10 || deltaMs <= 500 || arrivalMs < 5 || deltaMs <= 20 * arrivalMs;
  }

  /** Returns the replacement for an implausible step. */
  estimateStep(arrivalMs: number): number {
    return arrivalMs >= this.meanMs / 2 && arrivalMs <= this.meanMs * 3 ? arrivalMs : this.meanMs;
  }

  /** Returns the output time by arrival while the device's clock is stuck, otherwise null. */
  timeByArrival(nowMs: number): number | null {
    return this.#arrival === null ? null : this.#arrival.at + (nowMs - this.#arrival.sinceMs);
  }

  /** Detects a stuck clock and one that counts in 90 kHz. */
  observe(timestamp: number, nowMs: number): void {
    if (this.lastTimestamp === null) {
      this.#startWindow(nowMs);
      return;
    }
    const ticks = timestampDifference(timestamp, this.lastTimestamp);
    this.#observeStuck(ticks, nowMs);
    if (ticks > 0 && ticks < 1_000_000) {
      this.#windowTicks += ticks;
      this.#windowCount++;
    }
    const elapsed = nowMs - this.#windowSinceMs;
    if (elapsed < rateWindowMs) return;
    const ratio = this.#windowTicks / elapsed;
    if (this.#windowCount >= 10) {
      if (this.scale === 1 && ratio > 80 && ratio < 100) this.scale = 90;
      else if (this.scale === 90 && ratio > 0.5 && ratio < 2) this.scale = 1;
      if (ratio / this.scale > 0.5 && ratio / this.scale < 2) this.#arrival = null;
    }
    this.#startWindow(nowMs);
  }

  /** Records the output time of a packet. */
  record(timestamp: number, nowMs: number, outputMs: number, deltaMs: number | null): void {
    if (deltaMs !== null && deltaMs > 0) {
      if (deltaMs <= maxReorderMs) this.meanMs += (deltaMs - this.meanMs) / 8;
      if (deltaMs <= 500) this.#plausibleSteps++;
    }
    this.lastTimestamp = timestamp;
    this.lastArrivalMs = nowMs;
    this.lastOutputMs = outputMs;
    this.highestOutputMs = Math.max(this.highestOutputMs, outputMs);
  }

  reset(): void {
    this.lastTimestamp = null;
    this.#arrival = null;
    this.#stuckCount = 0;
    this.#plausibleSteps = 0;
  }

  #startWindow(nowMs: number): void {
    this.#windowTicks = 0;
    this.#windowCount = 0;
    this.#windowSinceMs = nowMs;
  }

  #observeStuck(ticks: number, nowMs: number): void {
    if (ticks !== 0) {
      this.#stuckCount = 0;
      return;
    }
    if (this.#stuckCount === 0) {
      this.#stuckSinceMs = this.lastArrivalMs;
      this.#stuckAt = this.highestOutputMs;
    }
    this.#stuckCount++;
    if (this.#arrival === null && this.#stuckCount >= 5 && nowMs - this.#stuckSinceMs >= stuckClockMs) {
      this.#arrival = { sinceMs: this.#stuckSinceMs, at: this.#stuckAt };
    }
  }
}

/**
 * Provides the output clock of one stream, from 0, in ms, never going back. Uses only differences of the device's
 * timestamps. Jumps, wraps and backward steps are replaced by the usual step, and audio and video stay in sync. Arrival
 * times may come from any monotonic clock.
 */
export class StreamTimeline {
  readonly #video = new DeviceClock(40);
  readonly #audio = new DeviceClock(20);
  #timestampSource: TimestampSource = 'device';
  #hasStarted = false;
  /** Pair of arrival and output time, set by the first packet of either kind after a (re)start. */
  #anchor: { ms: number; at: number } | null = null;
  #nextAudio: number | null = null;
  #lastAudio = 0;

  constructor(timestampSource: TimestampSource = 'device') {
    this.#timestampSource = timestampSource;
  }

  /** Usual interval of two frames. */
  get frameMs(): number {
    return this.#video.meanMs;
  }

  /** Returns the presentation time of a video frame, which may go back slightly only with `mayGoBack` (B frames). */
  videoTime(timestampLow: number, nowMs: number, mayGoBack = false): number {
    return this.#assignTime(this.#video, this.#audio, timestampLow, nowMs, mayGoBack);
  }

  /** Returns the time of an audio frame: by its samples, corrected when they drift from the device's clock. */
  audioTime(timestampLow: number, nowMs: number, durationMs: number): number {
    const deviceMs = this.#assignTime(this.#audio, this.#video, timestampLow, nowMs, false);
    const expectedMs = this.#nextAudio ?? deviceMs;
    const outputMs =
      Math.abs(deviceMs - expectedMs) > maxAudioDriftMs ? Math.max(deviceMs, this.#lastAudio) : expectedMs;
    this.#lastAudio = outputMs;
    this.#nextAudio = outputMs + durationMs;
    return outputMs;
  }

  /**
   * Handles a restart of the device's clock (new connection, seek, other speed). The output continues without a gap.
   */
  restart(timestampSource: TimestampSource = this.#timestampSource): void {
    this.#timestampSource = timestampSource;
    this.#video.reset();
    this.#audio.reset();
    this.#anchor = null;
    this.#nextAudio = null;
  }

  #assignTime(clock: DeviceClock, other: DeviceClock, timestamp: number, nowMs: number, mayGoBack: boolean): number {
    clock.observe(timestamp, nowMs);
    const delta = clock.lastTimestamp === null ? null : clock.elapsedSince(timestamp);
    const outputMs = this.#computeTime(clock, other, timestamp, delta, nowMs, mayGoBack);
    clock.record(timestamp, nowMs, outputMs, delta);
    return outputMs;
  }

  #computeTime(
    clock: DeviceClock,
    other: DeviceClock,
    timestamp: number,
    delta: number | null,
    nowMs: number,
    mayGoBack: boolean,
  ): number {
    if (this.#anchor === null) return this.#startClock(clock, other, nowMs);
    if (this.#timestampSource === 'arrival')
      return Math.max(clock.highestOutputMs, this.#anchor.at + nowMs - this.#anchor.ms);
    const arrivalTime = clock.timeByArrival(nowMs);
    if (arrivalTime !== null) return Math.max(clock.highestOutputMs, arrivalTime);
    const arrivalMs = nowMs - clock.lastArrivalMs;
    if (delta !== null && clock.isPlausible(delta, arrivalMs, mayGoBack)) return clock.lastOutputMs + delta;
    // After a jump, or at its first packet, one kind takes its position from the other, so that both stay in sync.
    if (other.lastTimestamp !== null) {
      const distanceMs = timestampDifference(timestamp, other.lastTimestamp) / other.scale;
      const outputMs = other.lastOutputMs + distanceMs;
      if (Math.abs(distanceMs) <= maxStepMs && outputMs >= clock.highestOutputMs) return outputMs;
      if (delta === null) return Math.max(clock.highestOutputMs, other.highestOutputMs);
    }
    return clock.highestOutputMs + clock.estimateStep(arrivalMs);
  }

  #startClock(clock: DeviceClock, other: DeviceClock, nowMs: number): number {
    const outputMs = this.#hasStarted ? Math.max(clock.highestOutputMs, other.highestOutputMs) + clock.meanMs : 0;
    this.#hasStarted = true;
    this.#anchor = { ms: nowMs, at: outputMs };
    return outputMs;
  }
}
