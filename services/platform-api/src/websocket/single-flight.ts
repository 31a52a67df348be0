interface Flight<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Merges concurrent reads of a key. Callers get a read that started after their call; those that arrive during a read
 * share the next one.
 */
export class SingleFlight<T> {
  readonly #read: (key: number) => Promise<T>;
  readonly #flights = new Map<number, Flight<T>>();

  constructor(read: (key: number) => Promise<T>) {
    this.#read = read;
  }

  get(key: number): Promise<T> {
    const flight = this.#flights.get(key);
    if (flight === undefined) return this.#begin(key);
    flight.next ??= flight.running.then(
      () => this.#begin(key),
      () => this.#begin(key),
    );
    return flight.next;
  }

  #begin(key: number): Promise<T> {
    const running = this.#read(key);
    const flight: Flight<T> = { running, next: undefined };
    this.#flights.set(key, flight);
    const end = (): void => {
      // A waiting caller starts the next read, which replaces this one.
      if (flight.next === undefined && this.#flights.get(key) === flight) this.#flights.delete(key);
    };
    running.then(end, end);
    return running;
  }
}
