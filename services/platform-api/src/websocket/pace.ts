import type { OutgoingEvent } from './live-event.ts';

/** At most one location a second for each vehicle. */
export const locationIntervalMs = 1_000;
/** Poll interval of waiting positions. */
export const paceTickMs = 100;
const tidyEveryMs = 10_000;

/** Passes one position of each vehicle per interval; of the others only the newest waits. */
export class Pace {
  readonly #lastMs = new Map<number, number>();
  readonly #waiting = new Map<number, { event: OutgoingEvent; dueMs: number }>();
  #longestMs = locationIntervalMs;
  #tidiedMs = 0;

  /** Returns true for an event that may be sent now. */
  admit(event: OutgoingEvent, intervalMs: number, nowMs: number): boolean {
    const { vehicleId } = event;
    this.#longestMs = Math.max(this.#longestMs, intervalMs);
    const dueMs = (this.#lastMs.get(vehicleId) ?? Number.NEGATIVE_INFINITY) + intervalMs;
    const waiting = this.#waiting.get(vehicleId);
    if (waiting === undefined && dueMs <= nowMs) {
      this.#lastMs.set(vehicleId, nowMs);
      return true;
    }
    // A late report does not replace a newer one.
    if (waiting === undefined || event.timestamp >= waiting.event.timestamp)
      this.#waiting.set(vehicleId, { event, dueMs });
    return false;
  }

  /** Returns positions that have waited long enough, and counts them as sent. */
  due(nowMs: number): OutgoingEvent[] {
    const due: OutgoingEvent[] = [];
    for (const [vehicleId, { event, dueMs }] of this.#waiting) {
      if (dueMs > nowMs) continue;
      this.#waiting.delete(vehicleId);
      this.#lastMs.set(vehicleId, nowMs);
      due.push(event);
    }
    if (nowMs - this.#tidiedMs > tidyEveryMs) this.#tidy(nowMs);
    return due;
  }

  #tidy(nowMs: number): void {
    this.#tidiedMs = nowMs;
    for (const [vehicleId, lastMs] of this.#lastMs)
      if (nowMs - lastMs > this.#longestMs) this.#lastMs.delete(vehicleId);
  }
}
