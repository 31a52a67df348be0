import type { RecordEvent } from './protocol.ts';

/** Above this number of waiting events the page reads them by HTTP instead. */
const maxWaitingEvents = 5_000;

/** Queues record events that the page has not received yet, in order. The memory is bounded. */
export class EventQueue {
  #events: RecordEvent[] = [];
  #hasGap = false;

  add(event: RecordEvent): void {
    if (this.#events.length >= maxWaitingEvents) {
      this.#events = [];
      this.#hasGap = true;
    }
    this.#events.push(event);
  }

  get isEmpty(): boolean {
    return this.#events.length === 0 && !this.#hasGap;
  }

  /** Removes and returns everything that waits. */
  take(): { readonly events: readonly RecordEvent[]; readonly hasGap: boolean } {
    const taken = { events: this.#events, hasGap: this.#hasGap };
    this.#events = [];
    this.#hasGap = false;
    return taken;
  }
}
