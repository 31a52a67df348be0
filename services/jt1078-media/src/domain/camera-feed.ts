import type { StreamId } from '@fleet/storage';
import type { CameraLink } from './camera-link.ts';

/** Holds the camera's side of a stream: its current connection, its last data, and whether it is expected to send. */
export class CameraFeed {
  readonly #id: StreamId;
  #link: CameraLink | null = null;
  #lastDataMs = performance.now();
  #disconnectedAtMs: number | null = null;
  #isPaused = false;
  #isBackpressured = false;

  constructor(id: StreamId) {
    this.#id = id;
  }

  get link(): CameraLink | null {
    return this.#link;
  }

  /** Time of the last data, or of the last change after which the camera may need time to send. */
  get lastDataMs(): number {
    return this.#lastDataMs;
  }

  /** Time since which the camera has had no connection; null while it has one, and before the first. */
  get disconnectedAtMs(): number | null {
    return this.#disconnectedAtMs;
  }

  /** True while the camera was commanded to pause a recording. */
  get isPaused(): boolean {
    return this.#isPaused;
  }

  /** True while reading from the camera is paused because viewers are full. */
  get isBackpressured(): boolean {
    return this.#isBackpressured;
  }

  /** Attaches a connection and releases an older one. Returns true when the camera has reconnected. */
  attach(link: CameraLink): boolean {
    const previous = this.#link;
    const isFirst = previous === null && this.#disconnectedAtMs === null;
    this.#link = link;
    this.#disconnectedAtMs = null;
    this.#lastDataMs = performance.now();
    if (isFirst) return false;
    if (previous !== null && this.#isBackpressured) previous.resume(this.#id);
    previous?.release(this.#id, 'the camera has a new connection', 0);
    if (this.#isBackpressured) link.pause(this.#id);
    return true;
  }

  /** Marks the camera as disconnected. */
  detach(): void {
    this.#link = null;
    this.#disconnectedAtMs = performance.now();
  }

  /** Gives the connection up at the end of the stream. It is closed after `closeAfterMs`. */
  release(reason: string, closeAfterMs: number): void {
    this.#link?.release(this.#id, reason, closeAfterMs);
    this.#link = null;
  }

  recordData(nowMs: number): void {
    this.#lastDataMs = nowMs;
  }

  /** Marks the camera as paused or resumed. No data is expected while paused. */
  setPaused(isPaused: boolean): void {
    this.#isPaused = isPaused;
    this.#lastDataMs = performance.now();
  }

  /** Stops or continues reading from the camera. */
  setBackpressure(isBackpressured: boolean): void {
    if (isBackpressured === this.#isBackpressured) return;
    this.#isBackpressured = isBackpressured;
    this.#lastDataMs = performance.now();
    if (isBackpressured) this.#link?.pause(this.#id);
    else this.#link?.resume(this.#id);
  }

  /** Returns true when a connected camera that should send has sent nothing for `timeoutMs`. */
  isSilent(nowMs: number, timeoutMs: number): boolean {
    return this.#link !== null && !this.#isPaused && !this.#isBackpressured && nowMs - this.#lastDataMs >= timeoutMs;
  }
}
