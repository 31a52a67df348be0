import { createHash } from 'node:crypto';
import { type Bus, BusError, request, verifyPartner } from '@fleet/bus';
import { AppError, TtlCache } from '@fleet/service-kit';

/** Caller of the partner channel. */
export interface PartnerIdentity {
  readonly partnerId: number;
  readonly accountId: number;
}

/** A deleted partner's token becomes invalid within five seconds. */
const cacheTtlMs = 4_000;
const verifyTimeoutMs = 3_000;

/** Caches which partner a token belongs to. */
export class PartnerTokenCache {
  readonly #bus: Bus;
  readonly #partners = new TtlCache<PartnerIdentity | null>({ ttlMs: cacheTtlMs });

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /**
   * Returns the partner of a token used from an address; null if it is invalid there. Only the token's SHA-256 leaves
   * this process.
   */
  async findPartner(token: string, address: string, correlationId: string): Promise<PartnerIdentity | null> {
    if (token === '' || token.length > 256) return null;
    const tokenSha256 = createHash('sha256').update(token).digest('hex');
    try {
      return await this.#partners.get(`${tokenSha256} ${address}`, async () => {
        const options = { timeoutMs: verifyTimeoutMs, correlationId };
        const reply = await request(this.#bus, verifyPartner, { tokenSha256, address }, options);
        return reply.valid ? reply : null;
      });
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      throw new AppError('unavailable', 'Credentials cannot be checked at the moment. Retry.', { cause });
    }
  }
}
