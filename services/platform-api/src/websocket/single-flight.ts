interface Flight<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Merges concurrent reads of a key. Callers get a read that started after their call; those that arrive during a read
 * share the next one.
 */
export class SingleFlight<K, T> {
  readonly #read: (key: K) => Promise<T>;
  readonly #flights = new Map<K, Flight<T>>();

  constructor(read: (key: K) => Promise<T>) {
    this.#read = read;
  }

  get(key: K): Promise<T> {
    const flight = this.#flights.get(key);
    if (flight === undefined) return this.#begin(key);
    flight.next ??= flight.running.then(
      () => this.#begin(key),
      () => this.#begin(key),
    );
    return flight.next;
  }

  #begin(key: K): Promise<T> {
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
