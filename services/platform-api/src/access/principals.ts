import { accessChanged, type Bus, keyRevoked, subscribe } from '@fleet/bus';
import { AppError, type Logger, TtlCache } from '@fleet/service-kit';
import { getAccountStatus } from '../domains/accounts/account-status.ts';
import { hashKey } from '../domains/api-keys/rules.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { findKeyById, verifyKey } from '../domains/api-keys/use-cases.ts';
import { useSession } from '../domains/sessions/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { findUser } from '../domains/users/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { TokenClaims } from './access-tokens.ts';

/** The user behind a token. */
export interface Principal {
  readonly user: User;
  /** The account itself, or a dealer above it, is suspended. */
  readonly isSuspended: boolean;
  /** The API key that minted the token; null for one of a session. */
  readonly mintedBy: ApiKey | null;
}

/** What changed is forgotten at once where the announcement arrives, and after this time where it got lost. */
const cacheTtlMs = 4_000;

/** Who keys and tokens stand for, as of the last seconds: the database decides, not what a token said when it was made. */
export class Principals {
  readonly #records: RecordStore;
  readonly #keys = new TtlCache<ApiKey | null>({ ttlMs: cacheTtlMs });
  readonly #principals = new TtlCache<Principal | null>({ ttlMs: cacheTtlMs });
  readonly #subscriptions: readonly { stop(): void }[];

  constructor(records: RecordStore, bus: Bus, log: Logger) {
    this.#records = records;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid access event');
    this.#subscriptions = [
      subscribe(bus, keyRevoked, onError, ({ keySha256 }) => {
        this.#keys.delete(keySha256);
        // Tokens that the key has minted.
        this.#principals.clear();
      }),
      subscribe(bus, accessChanged, onError, () => this.#principals.clear()),
      // What was said meanwhile was not heard.
      { stop: bus.onReconnect(() => this.invalidateAll()) },
    ];
  }

  /** The key when it may be used now, else null. */
  findKey(key: string): Promise<ApiKey | null> {
    const keySha256 = hashKey(key);
    return orThrowUnavailable(this.#keys.get(keySha256, () => verifyKey(this.#records, keySha256)));
  }

  /** The user of a token, null when session, user or minting key are not there any more. */
  findPrincipal(claims: TokenClaims): Promise<Principal | null> {
    const { userId, accountId, sessionId, mintedByKeyId } = claims;
    const key = [accountId, userId, sessionId, mintedByKeyId].join(':');
    return orThrowUnavailable(this.#principals.get(key, () => this.#load(claims)));
  }

  /** Has the database asked again for everybody. */
  invalidateAll(): void {
    this.#keys.clear();
    this.#principals.clear();
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  async #load({ userId, accountId, sessionId, mintedByKeyId }: TokenClaims): Promise<Principal | null> {
    const records = this.#records;
    const [user, status, session, mintedBy] = await Promise.all([
      findUser(records, { accountId }, userId),
      getAccountStatus(records, accountId),
      sessionId === null ? null : useSession(records, sessionId, userId),
      sessionId !== null || mintedByKeyId === null ? null : findKeyById(records, { accountId }, mintedByKeyId),
    ]);
    const isBacked = session !== null || mintedBy !== null;
    return user === null || user.disabled || status === null || !isBacked
      ? null
      : { user, isSuspended: status.isSuspended, mintedBy };
  }
}

/** That nobody could look is no verdict. */
async function orThrowUnavailable<T>(lookup: Promise<T>): Promise<T> {
  try {
    return await lookup;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('unavailable', 'Credentials cannot be checked at the moment.', { cause });
  }
}
