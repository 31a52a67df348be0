import type { VehicleNotification } from './envelope.ts';

/** Remembers what has come: in memory, or where several receivers share it (`SET key 1 NX PX keepMs` of Redis does it). */
export interface DedupeStore {
  /** Notes a key; false where it was noted before. */
  add(key: string): boolean | Promise<boolean>;
  /** Forgets a key: what came with it could not be taken, and is to be taken when it comes again. */
  remove(key: string): void | Promise<void>;
}

/** What names a notification: the interface's pair of `server_timestamp` and `imei`. */
export const dedupeKey = ({ server_timestamp, imei }: VehicleNotification): string => `${server_timestamp}:${imei}`;

const dayMs = 24 * 3_600_000;

/** Remembers keys in this process, for a time, and so many at most. Deliveries are tried again for hours: a restart forgets what came before. */
export class MemoryDedupeStore implements DedupeStore {
  readonly #ttlMs: number;
  readonly #maxEntries: number;
  readonly #seenAtMs = new Map<string, number>();

  constructor({ keepMs: ttlMs = dayMs, maxEntries = 100_000 }: { keepMs?: number; maxEntries?: number } = {}) {
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
