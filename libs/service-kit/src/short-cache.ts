interface Entry<V> {
  readonly value: Promise<V>;
  readonly expiresAtMs: number;
}

/** Remembers answers for a short time, at most so many; a question that failed is asked again. */
export class ShortCache<V> {
  readonly #keepMs: number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, Entry<V>>();

  /** Made-up keys must not fill the memory: beyond `maxEntries` the oldest go. */
  constructor({ keepMs, maxEntries = 10_000 }: { keepMs: number; maxEntries?: number }) {
    this.#keepMs = keepMs;
    this.#maxEntries = maxEntries;
  }

  /** The remembered answer, or that of `ask`, which everybody waits for who asks meanwhile. */
  get(key: string, ask: () => Promise<V>): Promise<V> {
    const known = this.#entries.get(key);
    if (known !== undefined && known.expiresAtMs > performance.now()) return known.value;
    const value = ask();
    const entry = { value, expiresAtMs: performance.now() + this.#keepMs };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return value;
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  forgetAll(): void {
    this.#entries.clear();
  }
}
