import { accessChanged, type Bus, keyRevoked, subscribe } from '@fleet/bus';
import { AppError, type Logger, TtlCache } from '@fleet/service-kit';
import { getAccountStatus } from '../domains/accounts/account-status.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { findKeyById, verifyKey } from '../domains/api-keys/use-cases.ts';
import { touchSession } from '../domains/sessions/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { findUser } from '../domains/users/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';
import type { TokenClaims } from './access-tokens.ts';

/** The user that a token or key stands for. */
export interface Principal {
  readonly user: User;
  /** True if the account or a dealer above it is suspended. */
  readonly isSuspended: boolean;
  /** The API key that minted the token; null for a session's token. */
  readonly mintedBy: ApiKey | null;
}

/**
 * Longest time for which a lost event leaves a cached entry outdated. Received events invalidate entries immediately.
 */
const cacheTtlMs = 4_000;

/**
 * Caches the users behind keys and tokens for a few seconds. Access follows the database, not the claims in a token.
 */
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
        // Covers the tokens that the key has minted.
        this.#principals.clear();
      }),
      subscribe(bus, accessChanged, onError, () => this.#principals.clear()),
      // Events published while the broker was unavailable are lost.
      { stop: bus.onReconnect(() => this.invalidateAll()) },
    ];
  }

  /** Returns the key with this hash if it is valid now, else null. */
  findKey(keySha256: string): Promise<ApiKey | null> {
    return orThrowUnavailable(this.#keys.get(keySha256, () => verifyKey(this.#records, keySha256)));
  }

  /** Returns the user of a token, or null if the session, the user or the minting key no longer exists. */
  findPrincipal(claims: TokenClaims): Promise<Principal | null> {
    const { userId, accountId, sessionId, mintedByKeyId } = claims;
    const key = [accountId, userId, sessionId, mintedByKeyId].join(':');
    return orThrowUnavailable(this.#principals.get(key, () => this.#load(claims)));
  }

  /** Like `findPrincipal`, from the database: for access that ends within seconds although an event was lost. */
  readPrincipal(claims: TokenClaims): Promise<Principal | null> {
    return orThrowUnavailable(this.#load(claims));
  }

  /** Evicts all cached entries, so that the database is read again. */
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
      sessionId === null ? null : touchSession(records, sessionId, userId),
      sessionId !== null || mintedByKeyId === null ? null : findKeyById(records, { accountId }, mintedByKeyId),
    ]);
    const isBacked = session !== null || mintedBy !== null;
    return user === null || user.disabled || status === null || !isBacked
      ? null
      : { user, isSuspended: status.isSuspended, mintedBy };
  }
}

/** Throws 503 if the lookup failed: a failed read does not show that a credential is invalid. */
async function orThrowUnavailable<T>(lookup: Promise<T>): Promise<T> {
  try {
    return await lookup;
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('unavailable', 'Credentials cannot be checked at the moment. Retry.', { cause });
  }
}
