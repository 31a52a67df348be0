import { createHash } from 'node:crypto';
import { accessChanged, type Bus, keyRevoked, request, subscribe, verifyKey } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';

/** What platform-api says of a valid key. */
export interface KeyOwner {
  readonly keyId: number;
  readonly accountId: number;
  readonly scopes: readonly string[];
  readonly ipAllowlist: readonly string[];
}

interface Entry {
  readonly owner: Promise<KeyOwner | null>;
  readonly expiresAtMs: number;
}

const keepMs = 5_000;
const askLimitMs = 3_000;
/** Made-up keys must not fill the memory: the oldest entries go. */
const maxEntries = 10_000;

/** By what a key is known outside of its request. */
export const hashOf = (key: string): string => createHash('sha256').update(key).digest('hex');

/** Answers whose an API key is, by platform-api's word, remembered for five seconds and forgotten at once when the key is revoked, or may have been without a word of it. */
export class KeyCache {
  readonly #bus: Bus;
  readonly #entries = new Map<string, Entry>();
  readonly #heard: readonly { stop(): void }[];
  readonly #listeners = new Set<(keySha256: string | null) => void>();

  constructor(bus: Bus, log: Logger) {
    this.#bus = bus;
    const onError = (error: unknown): void => log.warn({ err: error }, 'a key revocation could not be read');
    this.#heard = [
      subscribe(bus, keyRevoked, onError, ({ keySha256 }) => this.#doubt(keySha256)),
      // Said of nobody in particular by a replica of platform-api that could not be heard for a while.
      subscribe(bus, accessChanged, onError, (change) => {
        if (Object.keys(change).length === 0) this.#doubt(null);
      }),
      // What was said meanwhile was not heard.
      { stop: bus.onReconnect(() => this.#doubt(null)) },
    ];
  }

  /** The owner of a key, null for a key that is not valid; throws a BusError when nobody can say. Only the key's SHA-256 leaves this process. */
  ownerOf(key: string, correlationId: string): Promise<KeyOwner | null> {
    const keySha256 = hashOf(key);
    const known = this.#entries.get(keySha256);
    if (known !== undefined && known.expiresAtMs > performance.now()) return known.owner;
    const owner = this.#ask(keySha256, correlationId);
    const entry = { owner, expiresAtMs: performance.now() + keepMs };
    this.#entries.delete(keySha256);
    this.#entries.set(keySha256, entry);
    const [oldest] = this.#entries.keys();
    if (this.#entries.size > maxEntries && oldest !== undefined) this.#entries.delete(oldest);
    owner.catch(() => {
      // That nobody could say is not remembered.
      if (this.#entries.get(keySha256) === entry) this.#entries.delete(keySha256);
    });
    return owner;
  }

  /** The same as of now; it is not remembered, as a revocation may have been heard meanwhile. */
  ownerNow(key: string, correlationId: string): Promise<KeyOwner | null> {
    return this.#ask(hashOf(key), correlationId);
  }

  /** Calls back with the hash of each key that may not be valid any more, and with null where that may be any. */
  onDoubt(listener: (keySha256: string | null) => void): void {
    this.#listeners.add(listener);
  }

  stop(): void {
    for (const heard of this.#heard) heard.stop();
  }

  #doubt(keySha256: string | null): void {
    if (keySha256 === null) this.#entries.clear();
    else this.#entries.delete(keySha256);
    for (const listener of this.#listeners) listener(keySha256);
  }

  async #ask(keySha256: string, correlationId: string): Promise<KeyOwner | null> {
    const reply = await request(this.#bus, verifyKey, { keySha256 }, { timeoutMs: askLimitMs, correlationId });
    return reply.valid ? reply : null;
  }
}
