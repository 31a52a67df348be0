import type { OutgoingEvent } from './outgoing-event.ts';

/** At most one location a second for each vehicle. */
export const locationIntervalMs = 1_000;
/** Poll interval of waiting positions. */
export const throttleTickMs = 100;
const cleanupIntervalMs = 10_000;

/** Passes one position of each vehicle per interval; of the others only the newest waits. */
export class LocationThrottle {
  readonly #sentAtMs = new Map<number, number>();
  readonly #waiting = new Map<number, { event: OutgoingEvent; dueMs: number }>();
  #longestIntervalMs = locationIntervalMs;
  #cleanedUpAtMs = 0;

  /** Returns true for an event that may be sent now. */
  admit(event: OutgoingEvent, intervalMs: number, nowMs: number): boolean {
    const { vehicleId } = event;
    this.#longestIntervalMs = Math.max(this.#longestIntervalMs, intervalMs);
    const dueMs = (this.#sentAtMs.get(vehicleId) ?? Number.NEGATIVE_INFINITY) + intervalMs;
    const waiting = this.#waiting.get(vehicleId);
    if (waiting === undefined && dueMs <= nowMs) {
      this.#sentAtMs.set(vehicleId, nowMs);
      return true;
    }
    // A late report does not replace a newer one.
    if (waiting === undefined || event.timestamp >= waiting.event.timestamp)
      this.#waiting.set(vehicleId, { event, dueMs });
    return false;
  }

  /** Returns positions that have waited long enough, and counts them as sent. */
  takeDue(nowMs: number): OutgoingEvent[] {
    const takeDue: OutgoingEvent[] = [];
    for (const [vehicleId, { event, dueMs }] of this.#waiting) {
      if (dueMs > nowMs) continue;
      this.#waiting.delete(vehicleId);
      this.#sentAtMs.set(vehicleId, nowMs);
      takeDue.push(event);
    }
    if (nowMs - this.#cleanedUpAtMs > cleanupIntervalMs) this.#cleanUp(nowMs);
    return takeDue;
  }

  #cleanUp(nowMs: number): void {
    this.#cleanedUpAtMs = nowMs;
    for (const [vehicleId, sentAtMs] of this.#sentAtMs)
      if (nowMs - sentAtMs > this.#longestIntervalMs) this.#sentAtMs.delete(vehicleId);
  }
}
