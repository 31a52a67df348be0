import { createHash } from 'node:crypto';
import { type Bus, BusError, request, verifyPartner } from '@fleet/bus';
import { AppError, TtlCache } from '@fleet/service-kit';

/** Who commands over the partner channel. */
export interface PartnerSender {
  readonly partnerId: number;
  readonly accountId: number;
}

/** A deleted partner's token is worth nothing within five seconds. */
const keepMs = 4_000;
const askLimitMs = 3_000;

/** Answers whose a partner token is, by platform-api's word, remembered for a moment. */
export class PartnerCache {
  readonly #bus: Bus;
  readonly #senders = new TtlCache<PartnerSender | null>({ keepMs });

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** The partner of a token that comes from an address; null for one that is not valid there. Only the token's SHA-256 leaves this process. */
  async senderOf(token: string, address: string, correlationId: string): Promise<PartnerSender | null> {
    if (token === '' || token.length > 256) return null;
    const tokenSha256 = createHash('sha256').update(token).digest('hex');
    try {
      return await this.#senders.get(`${tokenSha256} ${address}`, async () => {
        const options = { timeoutMs: askLimitMs, correlationId };
        const reply = await request(this.#bus, verifyPartner, { tokenSha256, address }, options);
        return reply.valid ? reply : null;
      });
    } catch (cause) {
      if (!(cause instanceof BusError)) throw cause;
      throw new AppError('unavailable', 'Credentials can not be checked at the moment.', { cause });
    }
  }
}
