/** A camera that waits for its start. */
interface Waiting {
  readonly vehicleId: number;
  readonly begin: () => void;
  readonly onAhead: (ahead: number) => void;
}

const defaultMaxRunning = 4;

/**
 * Limits the starts that run at once: four, and one of a vehicle. A terminal handles one command after the other, and
 * each start occupies a request for up to 90 seconds.
 */
export class StartQueue {
  readonly #maxRunning: number;
  readonly #running = new Set<Waiting>();
  #waiting: Waiting[] = [];

  constructor(maxRunning = defaultMaxRunning) {
    this.#maxRunning = maxRunning;
  }

  /**
   * Waits for a turn. Calls `onAhead` with the number of starts before it while it waits. Returns a function that ends the
   * turn, or null if the signal aborts first.
   */
  enter(vehicleId: number, onAhead: (ahead: number) => void, signal: AbortSignal): Promise<(() => void) | null> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve(null);
      const waiting: Waiting = { vehicleId, onAhead, begin: () => resolve(() => this.#leave(waiting)) };
      signal.addEventListener('abort', () => {
        this.#waiting = this.#waiting.filter((each) => each !== waiting);
        resolve(null);
        this.#startNext();
      });
      this.#waiting.push(waiting);
      this.#startNext();
    });
  }

  #leave(ended: Waiting): void {
    if (this.#running.delete(ended)) this.#startNext();
  }

  #startNext(): void {
    for (const waiting of this.#waiting) {
      if (this.#running.size >= this.#maxRunning) break;
      if ([...this.#running].some(({ vehicleId }) => vehicleId === waiting.vehicleId)) continue;
      this.#running.add(waiting);
      waiting.begin();
    }
    this.#waiting = this.#waiting.filter((waiting) => !this.#running.has(waiting));
    this.#waiting.forEach(({ onAhead }, index) => onAhead(index + 1));
  }
}
