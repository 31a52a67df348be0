import type { VehicleNotification } from './envelope.ts';

/** Store of seen keys: in memory, or shared by several receivers (`SET key 1 NX PX ttl` of Redis implements it). */
export interface DedupeStore {
  /** Records a key; returns false if it was recorded before. */
  add(key: string): boolean | Promise<boolean>;
  /** Deletes a key, so that a failed notification is accepted when it is delivered again. */
  remove(key: string): void | Promise<void>;
}

/** Returns the key of a notification: the interface's pair of `server_timestamp` and `imei`. */
export const dedupeKey = ({ server_timestamp, imei }: VehicleNotification): string => `${server_timestamp}:${imei}`;

const dayMs = 24 * 3_600_000;

/**
 * Stores keys in this process, for a time and up to a number. Deliveries are retried for hours, and a restart loses the
 * keys.
 */
export class MemoryDedupeStore implements DedupeStore {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #seenAtMs = new Map<string, number>();

  constructor({ ttlMs = dayMs, maxEntries = 100_000 }: { ttlMs?: number; maxEntries?: number } = {}) {
    this.#ttlMs = ttlMs;
    this.#maxEntries = maxEntries;
  }

  add(key: string, nowMs = Date.now()): boolean {
    const seenAtMs = this.#seenAtMs.get(key);
    if (seenAtMs !== undefined && nowMs - seenAtMs < this.#ttlMs) return false;
    this.#seenAtMs.delete(key);
    this.#seenAtMs.set(key, nowMs);
    const [oldest] = this.#seenAtMs.keys();
    if (this.#seenAtMs.size > this.#maxEntries && oldest !== undefined) this.#seenAtMs.delete(oldest);
    return true;
  }

  remove(key: string): void {
    this.#seenAtMs.delete(key);
  }
}
