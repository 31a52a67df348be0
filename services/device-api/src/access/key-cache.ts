import { createHash } from 'node:crypto';
import { accessChanged, type Bus, keyRevoked, request, subscribe, verifyKey } from '@fleet/bus';
import { type Logger, TtlCache } from '@fleet/service-kit';

/** Owner of a valid key, from platform-api. */
interface KeyOwner {
  readonly keyId: number;
  readonly accountId: number;
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
}

const cacheTtlMs = 5_000;
const verifyTimeoutMs = 3_000;

/** Returns the name of a key outside of its request. */
export const hashKey = (key: string): string => createHash('sha256').update(key).digest('hex');

/**
 * Caches which account an API key belongs to for five seconds. Entries are evicted when a key is revoked, or a
 * revocation may have been missed.
 */
export class KeyCache {
  readonly #bus: Bus;
  readonly #owners = new TtlCache<KeyOwner | null>({ ttlMs: cacheTtlMs });
  readonly #subscriptions: readonly { stop(): void }[];

  constructor(bus: Bus, log: Logger) {
    this.#bus = bus;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid key revocation');
    this.#subscriptions = [
      subscribe(bus, keyRevoked, onError, ({ keySha256 }) => this.#invalidate(keySha256)),
      // Published without a key by a replica of platform-api that was disconnected.
      subscribe(bus, accessChanged, onError, (change) => {
        if (Object.keys(change).length === 0) this.#invalidate(null);
      }),
      // Events during the outage were missed.
      { stop: bus.onReconnect(() => this.#invalidate(null)) },
    ];
  }

  /**
   * Returns the owner of a key, null for an invalid key; throws a BusError if platform-api is unreachable. Only the
   * key's SHA-256 leaves this process.
   */
  get(key: string, correlationId: string): Promise<KeyOwner | null> {
    const keySha256 = hashKey(key);
    return this.#owners.get(keySha256, () => this.#requestOwner(keySha256, correlationId));
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  #invalidate(keySha256: string | null): void {
    if (keySha256 === null) this.#owners.clear();
    else this.#owners.delete(keySha256);
  }

  async #requestOwner(keySha256: string, correlationId: string): Promise<KeyOwner | null> {
    const reply = await request(this.#bus, verifyKey, { keySha256 }, { timeoutMs: verifyTimeoutMs, correlationId });
    return reply.valid ? reply : null;
  }
}
