const maxKept = 10_000;

/** Caches values for a limited time. Concurrent callers share one read. */
export class AgedCache<K, V> {
  readonly #maxAgeMs: number;
  readonly #kept = new Map<K, { readonly value: Promise<V>; readonly atMs: number }>();

  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get(key: K, read: () => Promise<V>): Promise<V> {
    const now = performance.now();
    const kept = this.#kept.get(key);
    if (kept !== undefined && now - kept.atMs < this.#maxAgeMs) return kept.value;
    if (this.#kept.size >= maxKept) this.#kept.clear();
    const value = read();
    this.#kept.set(key, { value, atMs: now });
    value.catch(() => {
      // A failure is not cached: the next caller reads again.
      if (this.#kept.get(key)?.value === value) this.#kept.delete(key);
    });
    return value;
  }
}
