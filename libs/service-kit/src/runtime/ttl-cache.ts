interface Entry<V> {
  readonly value: Promise<V>;
  readonly expiresAtMs: number;
}

/** Remembers answers for a short time, at most so many; a question that failed is asked again. */
export class TtlCache<V> {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, Entry<V>>();

  /** Made-up keys must not fill the memory: beyond `maxEntries` the oldest go. */
  constructor({ keepMs: ttlMs, maxEntries = 10_000 }: { keepMs: number; maxEntries?: number }) {
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
  }

  /** The remembered answer, or that of `ask`, which everybody waits for who asks meanwhile. */
  get(key: string, load: () => Promise<V>): Promise<V> {
    const existing = this.#entries.get(key);
    if (existing !== undefined && existing.expiresAtMs > performance.now()) return existing.value;
    const value = load();
    const entry = { value, expiresAtMs: performance.now() + this.#ttlMs };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > this.#maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    value.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
