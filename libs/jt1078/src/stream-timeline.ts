/** How device time becomes output time: by the device's clock, or by arrival (playback faster than 1x, rewind). */
export type TimestampSource = 'device' | 'arrival';

/** A step up to this long is taken as it is; a longer one, or one back, is a jump of the device's clock. */
const maxStepMs = 3000;
/** Presentation times of B frames go back by no more. */
const maxReorderMs = 1000;
/** Audio follows its samples until it has drifted this far from the device's clock. */
const maxAudioDriftMs = 200;
/** A clock that has stood still this long is no clock. */
const stuckClockMs = 1000;
/** How long to compare the device's clock with arrival before its unit (ms or 90 kHz) is judged. */
const rateWindowMs = 2000;

/** The lower 32 bits are enough for differences, through wraps and garbage in the upper half. */
const timestampDifference = (later: number, earlier: number): number => (later - earlier) | 0;

/** Device clock of one kind (video or audio). */
class DeviceClock {
  lastTimestamp: number | null = null;
  lastArrivalMs = 0;
  /** Output time of the last packet; with B frames it may lie before `highest`. */
  lastOutputMs = 0;
  highestOutputMs = 0;
  meanMs: number;
  /** Ticks per ms. */
  scale = 1;
  #plausibleSteps = 0;
  #stuckCount = 0;
  #stuckSinceMs = 0;
  #stuckAt = 0;
  /** Where arrival time took over from a clock that stands still. */
  #arrival: { sinceMs: number; at: number } | null = null;
  #windowTicks = 0;
  #windowSinceMs = 0;
  #windowCount = 0;

  constructor(meanMs: number) {
    this.meanMs = meanMs;
  }

  /** ms from the last packet to one with this timestamp, by the device. */
  elapsedSince(timestamp: number): number {
    return timestampDifference(timestamp, this.lastTimestamp ?? timestamp) / this.scale;
  }

  /** A step that is believed as it is. While little is known, one far ahead of arrival is not (90 kHz reads like that). */
  isPlausible(deltaMs: number, arrivalMs: number, mayGoBack: boolean): boolean {
    if (deltaMs < 0) return mayGoBack && deltaMs >= -maxReorderMs;
    if (deltaMs > maxStepMs) return false;
    return this.#plausibleSteps >= 10 || deltaMs <= 500 || arrivalMs < 5 || deltaMs <= 20 * arrivalMs;
  }

  /** What to put in for a step that is not believed. */
  estimateStep(arrivalMs: number): number {
    return arrivalMs >= this.meanMs / 2 && arrivalMs <= this.meanMs * 3 ? arrivalMs : this.meanMs;
  }

  /** Where arrival time puts a packet while the device's clock stands still, else null. */
  timeByArrival(nowMs: number): number | null {
    return this.#arrival === null ? null : this.#arrival.at + (nowMs - this.#arrival.sinceMs);
  }

  /** Watches for a clock that stands still, and for one that counts in 90 kHz. */
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

  /** Notes where a packet was put. */
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
 * Output clock of one stream: from 0, in ms, never back. Takes only differences of the device's timestamps; jumps, wraps
 * and steps back are replaced by the usual step, and picture and sound stay together. Times handed in are any steady clock.
 */
export class StreamTimeline {
  readonly #video = new DeviceClock(40);
  readonly #audio = new DeviceClock(20);
  #timestampSource: TimestampSource = 'device';
  #hasStarted = false;
  /** Set by the first packet of either kind after a (re)start; pairs arrival with output time. */
  #anchor: { ms: number; at: number } | null = null;
  #nextAudio: number | null = null;
  #lastAudio = 0;

  constructor(timestampSource: TimestampSource = 'device') {
    this.#timestampSource = timestampSource;
  }

  /** Usual distance of two frames. */
  get frameMs(): number {
    return this.#video.meanMs;
  }

  /** Presentation time of a video frame; may go back a little only when `mayGoBack` (B frames). */
  videoTime(timestampLow: number, nowMs: number, mayGoBack = false): number {
    return this.#assignTime(this.#video, this.#audio, timestampLow, nowMs, mayGoBack);
  }

  /** Time of an audio frame: by its samples, corrected when they drift from the device's clock. */
  audioTime(timestampLow: number, nowMs: number, durationMs: number): number {
    const deviceMs = this.#assignTime(this.#audio, this.#video, timestampLow, nowMs, false);
    const expectedMs = this.#nextAudio ?? deviceMs;
    const outputMs =
      Math.abs(deviceMs - expectedMs) > maxAudioDriftMs ? Math.max(deviceMs, this.#lastAudio) : expectedMs;
    this.#lastAudio = outputMs;
    this.#nextAudio = outputMs + durationMs;
    return outputMs;
  }

  /** The device's clock starts again (new connection, seek, other speed); the output goes on without a hole. */
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
    // After a jump (or at its first packet) a kind takes its place from the other kind, so that both stay together.
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
