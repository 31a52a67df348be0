interface Turn<T> {
  readonly running: Promise<T>;
  next: Promise<T> | undefined;
}

/**
 * Answers many who ask for the same at once with few readings: whoever asks gets one that began after the question. While one runs, all who ask wait for one
 * that follows it together.
 */
export class Coalesced<T> {
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
      // Whoever waits begins the next turn, which takes this one's place.
      if (turn.next === undefined && this.#turns.get(key) === turn) this.#turns.delete(key);
    };
    running.then(end, end);
    return running;
  }
}
