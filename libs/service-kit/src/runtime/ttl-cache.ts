import { LRUCache } from 'lru-cache';

/** Caches results for a short time, up to a number of entries; failures are not cached. */
export class TtlCache<V, K extends string | number = string> {
  readonly #entries: LRUCache<K, { readonly value: Promise<V> }>;

  /** Invented keys must not fill the memory: beyond `maxEntries` the least recently used entries are evicted. */
  constructor({ ttlMs, maxEntries = 10_000 }: { ttlMs: number; maxEntries?: number }) {
    // The clock is read at each call, so that tests can replace it; no timer runs for the cache.
    const perf = { now: () => performance.now() };
    this.#entries = new LRUCache({ max: maxEntries, ttl: ttlMs, ttlResolution: 0, perf });
  }

  /** Returns the cached value, or calls `load`. Concurrent callers share one call. */
  get(key: K, load: () => Promise<V>): Promise<V> {
    const cached = this.#entries.get(key);
    if (cached !== undefined) return cached.value;
    const entry = { value: load() };
    this.#entries.set(key, entry);
    entry.value.catch(() => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    });
    return entry.value;
  }

  /** Returns the cached value, for callers that load several keys together. */
  peek(key: K): Promise<V> | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: K, value: V): void {
    this.#entries.set(key, { value: Promise.resolve(value) });
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  clear(): void {
    this.#entries.clear();
  }
}
