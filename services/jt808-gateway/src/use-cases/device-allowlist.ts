import { type Bus, findDevice, request } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';

const knownCacheTtlMs = 30_000;
const unknownCacheTtlMs = 5_000;
const maxCached = 50_000;
const timeoutMs = 3_000;

/** Decides which terminals may have a session: all, or those known to platform-api. */
export class DeviceAllowlist {
  readonly #bus: Bus;
  readonly #log: Logger;
  readonly #isOpen: boolean;
  readonly #cache = new Map<string, { known: boolean; untilMs: number }>();

  constructor(bus: Bus, log: Logger, policy: 'open' | 'known') {
    this.#bus = bus;
    this.#log = log;
    this.#isOpen = policy === 'open';
  }

  /** True when the policy is `open` and no lookup is needed. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  async isAllowed(imei: string): Promise<boolean> {
    if (this.#isOpen) return true;
    const cached = this.#cache.get(imei);
    if (cached !== undefined && cached.untilMs > performance.now()) return cached.known;
    try {
      const { known: isKnown } = await request(this.#bus, findDevice, { imei }, { timeoutMs });
      if (this.#cache.size >= maxCached) this.#cache.clear();
      this.#cache.set(imei, {
        known: isKnown,
        untilMs: performance.now() + (isKnown ? knownCacheTtlMs : unknownCacheTtlMs),
      });
      return isKnown;
    } catch (error) {
      // Refused while the lookup fails; the terminal retries.
      this.#log.warn({ err: error, imei }, 'could not look up a terminal in platform-api');
      return false;
    }
  }
}
