/** How device time becomes output time: by the device's clock, or by arrival (playback faster than 1x, rewind). */
export type Pace = 'device' | 'arrival';

/** A step up to this long is taken as it is; a longer one, or one back, is a jump of the device's clock. */
const MAX_STEP_MS = 3000;
/** Presentation times of B frames go back by no more. */
const MAX_REORDER_MS = 1000;
/** Audio follows its samples until it has drifted this far from the device's clock. */
const MAX_AUDIO_DRIFT_MS = 200;
/** A clock that has stood still this long is no clock. */
const STUCK_MS = 1000;
/** How long to compare the device's clock with arrival before its unit (ms or 90 kHz) is judged. */
const RATE_WINDOW_MS = 2000;

/** The lower 32 bits are enough for differences, through wraps and garbage in the upper half. */
const difference = (later: number, earlier: number): number => (later - earlier) | 0;

/** Device clock of one kind (video or audio). */
class DeviceClock {
  lastTimestamp: number | null = null;
  lastMs = 0;
  /** Output time of the last packet; with B frames it may lie before `highest`. */
  last = 0;
  highest = 0;
  meanMs: number;
  /** Ticks per ms. */
  scale = 1;
  #sane = 0;
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
  since(timestamp: number): number {
    return difference(timestamp, this.lastTimestamp ?? timestamp) / this.scale;
  }

  /** A step that is believed as it is. While little is known, one far ahead of arrival is not (90 kHz reads like that). */
  isPlausible(deltaMs: number, arrivalMs: number, mayGoBack: boolean): boolean {
    if (deltaMs < 0) return mayGoBack && deltaMs >= -MAX_REORDER_MS;
    if (deltaMs > MAX_STEP_MS) return false;
    return this.#sane >= 10 || deltaMs <= 500 || arrivalMs < 5 || deltaMs <= 20 * arrivalMs;
  }

  /** What to put in for a step that is not believed. */
  substitute(arrivalMs: number): number {
    return arrivalMs >= this.meanMs / 2 && arrivalMs <= this.meanMs * 3 ? arrivalMs : this.meanMs;
  }

  /** Where arrival time puts a packet while the device's clock stands still, else null. */
  byArrival(nowMs: number): number | null {
    return this.#arrival === null ? null : this.#arrival.at + (nowMs - this.#arrival.sinceMs);
  }

  /** Watches for a clock that stands still, and for one that counts in 90 kHz. */
  observe(timestamp: number, nowMs: number): void {
    if (this.lastTimestamp === null) {
      this.#startWindow(nowMs);
      return;
    }
    const ticks = difference(timestamp, this.lastTimestamp);
    this.#observeStuck(ticks, nowMs);
    if (ticks > 0 && ticks < 1_000_000) {
      this.#windowTicks += ticks;
      this.#windowCount++;
    }
    const elapsed = nowMs - this.#windowSinceMs;
    if (elapsed < RATE_WINDOW_MS) return;
    const ratio = this.#windowTicks / elapsed;
    if (this.#windowCount >= 10) {
      if (this.scale === 1 && ratio > 80 && ratio < 100) this.scale = 90;
      else if (this.scale === 90 && ratio > 0.5 && ratio < 2) this.scale = 1;
      if (ratio / this.scale > 0.5 && ratio / this.scale < 2) this.#arrival = null;
    }
    this.#startWindow(nowMs);
  }

  /** Notes where a packet was put. */
  settle(timestamp: number, nowMs: number, at: number, deltaMs: number | null): void {
    if (deltaMs !== null && deltaMs > 0) {
      if (deltaMs <= MAX_REORDER_MS) this.meanMs += (deltaMs - this.meanMs) / 8;
      if (deltaMs <= 500) this.#sane++;
    }
    this.lastTimestamp = timestamp;
    this.lastMs = nowMs;
    this.last = at;
    this.highest = Math.max(this.highest, at);
  }

  forget(): void {
    this.lastTimestamp = null;
    this.#arrival = null;
    this.#stuckCount = 0;
    this.#sane = 0;
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
      this.#stuckSinceMs = this.lastMs;
      this.#stuckAt = this.highest;
    }
    this.#stuckCount++;
    if (this.#arrival === null && this.#stuckCount >= 5 && nowMs - this.#stuckSinceMs >= STUCK_MS) {
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
  #pace: Pace = 'device';
  #hasStarted = false;
  /** Set by the first packet of either kind after a (re)start; pairs arrival with output time. */
  #anchor: { ms: number; at: number } | null = null;
  #nextAudio: number | null = null;
  #lastAudio = 0;

  constructor(pace: Pace = 'device') {
    this.#pace = pace;
  }

  /** Usual distance of two frames. */
  get frameMs(): number {
    return this.#video.meanMs;
  }

  /** Presentation time of a video frame; may go back a little only when `mayGoBack` (B frames). */
  video(timestampLow: number, nowMs: number, mayGoBack = false): number {
    return this.#place(this.#video, this.#audio, timestampLow, nowMs, mayGoBack);
  }

  /** Time of an audio frame: by its samples, corrected when they drift from the device's clock. */
  audio(timestampLow: number, nowMs: number, durationMs: number): number {
    const device = this.#place(this.#audio, this.#video, timestampLow, nowMs, false);
    const bySamples = this.#nextAudio ?? device;
    const at = Math.abs(device - bySamples) > MAX_AUDIO_DRIFT_MS ? Math.max(device, this.#lastAudio) : bySamples;
    this.#lastAudio = at;
    this.#nextAudio = at + durationMs;
    return at;
  }

  /** The device's clock starts anew (new connection, seek, other speed); the output goes on without a hole. */
  restart(pace: Pace = this.#pace): void {
    this.#pace = pace;
    this.#video.forget();
    this.#audio.forget();
    this.#anchor = null;
    this.#nextAudio = null;
  }

  #place(clock: DeviceClock, other: DeviceClock, timestamp: number, nowMs: number, mayGoBack: boolean): number {
    clock.observe(timestamp, nowMs);
    const delta = clock.lastTimestamp === null ? null : clock.since(timestamp);
    const at = this.#locate(clock, other, timestamp, delta, nowMs, mayGoBack);
    clock.settle(timestamp, nowMs, at, delta);
    return at;
  }

  #locate(
    clock: DeviceClock,
    other: DeviceClock,
    timestamp: number,
    delta: number | null,
    nowMs: number,
    mayGoBack: boolean,
  ): number {
    if (this.#anchor === null) return this.#begin(clock, other, nowMs);
    if (this.#pace === 'arrival') return Math.max(clock.highest, this.#anchor.at + nowMs - this.#anchor.ms);
    const byArrival = clock.byArrival(nowMs);
    if (byArrival !== null) return Math.max(clock.highest, byArrival);
    const arrivalMs = nowMs - clock.lastMs;
    if (delta !== null && clock.isPlausible(delta, arrivalMs, mayGoBack)) return clock.last + delta;
    // After a jump (or at its first packet) a kind takes its place from the other kind, so that both stay together.
    if (other.lastTimestamp !== null) {
      const apart = difference(timestamp, other.lastTimestamp) / other.scale;
      const at = other.last + apart;
      if (Math.abs(apart) <= MAX_STEP_MS && at >= clock.highest) return at;
      if (delta === null) return Math.max(clock.highest, other.highest);
    }
    return clock.highest + clock.substitute(arrivalMs);
  }

  #begin(clock: DeviceClock, other: DeviceClock, nowMs: number): number {
    const at = this.#hasStarted ? Math.max(clock.highest, other.highest) + clock.meanMs : 0;
    this.#hasStarted = true;
    this.#anchor = { ms: nowMs, at };
    return at;
  }
}
