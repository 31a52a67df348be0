import type { VehicleNotification } from './envelope.ts';

/** Remembers what has come: in memory, or where several receivers share it (`SET key 1 NX PX keepMs` of Redis does it). */
export interface DedupeStore {
  /** Notes a key; false where it was noted before. */
  add(key: string): boolean | Promise<boolean>;
  /** Forgets a key: what came with it could not be taken, and is to be taken when it comes again. */
  remove(key: string): void | Promise<void>;
}

/** What names a notification: the interface's pair of `server_timestamp` and `imei`. */
export const dedupeKeyOf = ({ server_timestamp, imei }: VehicleNotification): string => `${server_timestamp}:${imei}`;

const dayMs = 24 * 3_600_000;

/** Remembers keys in this process, for a time, and so many at most. Deliveries are tried again for hours: a restart forgets what came before. */
export class MemoryDedupeStore implements DedupeStore {
  readonly #keepMs: number;
  readonly #maxEntries: number;
  readonly #notedAtMs = new Map<string, number>();

  constructor({ keepMs = dayMs, maxEntries = 100_000 }: { keepMs?: number; maxEntries?: number } = {}) {
    this.#keepMs = keepMs;
    this.#maxEntries = maxEntries;
  }

  add(key: string, nowMs = Date.now()): boolean {
    const notedAtMs = this.#notedAtMs.get(key);
    if (notedAtMs !== undefined && nowMs - notedAtMs < this.#keepMs) return false;
    this.#notedAtMs.delete(key);
    this.#notedAtMs.set(key, nowMs);
    const [oldest] = this.#notedAtMs.keys();
    if (this.#notedAtMs.size > this.#maxEntries && oldest !== undefined) this.#notedAtMs.delete(oldest);
    return true;
  }

  remove(key: string): void {
    this.#notedAtMs.delete(key);
  }
}
