import type { Map as MapLibreMap } from 'maplibre-gl';

/** Least time between two frames while vehicles glide; more if the frames take long. */
const frameIntervalMs = 33;
const frameShare = 3;
/** A fast machine waits this long for its display. */
const displayIntervalMs = 16;
/** Changes that do not move wait this long for each other. */
const soonMs = 250;

/** Repaints a map while something moves; less often if a frame takes long. */
export class FramePacer {
  readonly #map: MapLibreMap;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #soonTimer: ReturnType<typeof setTimeout> | undefined;
  #endMs = 0;
  #frameMs = 0;

  constructor(map: MapLibreMap) {
    this.#map = map;
  }

  /** Repaints for a duration from now. */
  repaintFor(durationMs: number): void {
    this.#endMs = performance.now() + durationMs + frameIntervalMs;
    this.#drawFrames();
  }

  /** Repaints once, a moment from now. */
  repaintSoon(): void {
    this.#soonTimer ??= setTimeout(() => {
      this.#soonTimer = undefined;
      this.#map.triggerRepaint();
    }, soonMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#soonTimer);
  }

  #drawFrames(): void {
    if (this.#timer !== undefined) return;
    const delayMs = Math.max(frameIntervalMs, (this.#frameMs - displayIntervalMs) * frameShare);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#map.triggerRepaint();
      this.#measureFrame();
      if (performance.now() < this.#endMs) this.#drawFrames();
    }, delayMs);
  }

  // A slow graphics card blocks the page only after a frame was drawn, so the time to the next one counts.
  #measureFrame(): void {
    this.#map.once('render', () => {
      const startMs = performance.now();
      requestAnimationFrame(() => {
        this.#frameMs = performance.now() - startMs;
      });
    });
  }
}
