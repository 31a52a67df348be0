interface Entry<V> {
  readonly value: Promise<V>;
  readonly expiresAtMs: number;
}

/** Caches results for a short time, up to a number of entries; failures are not cached. */
export class TtlCache<V> {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #entries = new Map<string, Entry<V>>();

  /** Invented keys must not fill the memory: beyond `maxEntries` the oldest entries are evicted. */
  constructor({ ttlMs, maxEntries = 10_000 }: { ttlMs: number; maxEntries?: number }) {
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
  }

  /** Returns the cached value, or calls `ask`. Concurrent callers share one call. */
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
