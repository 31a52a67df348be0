interface Turn<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Merges concurrent reads of a key. Callers get a read that started after their call; those that arrive during a read
 * share the next one.
 */
export class SingleFlight<T> {
  readonly #read: (key: number) => Promise<T>;
  readonly #turns = new Map<number, Turn<T>>();

  constructor(read: (key: number) => Promise<T>) {
    this.#read = read;
  }

  get(key: number): Promise<T> {
    const turn = this.#turns.get(key);
    if (turn === undefined) return this.#begin(key);
    turn.next ??= turn.running.then(
      () => this.#begin(key),
      () => this.#begin(key),
    );
    return turn.next;
  }

  #begin(key: number): Promise<T> {
    const running = this.#read(key);
    const turn: Turn<T> = { running, next: undefined };
    this.#turns.set(key, turn);
    const end = (): void => {
      // A waiting caller starts the next read, which replaces this one.
      if (turn.next === undefined && this.#turns.get(key) === turn) this.#turns.delete(key);
    };
    running.then(end, end);
    return running;
  }
}
