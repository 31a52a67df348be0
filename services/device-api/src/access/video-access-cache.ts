import {
  accessChanged,
  authorizeVideo,
  type Bus,
  callUseCase,
  fleetChanged,
  type KnownVideoCaller,
  keyRevoked,
  shareLinkRevoked,
  subscribe,
  type VideoAccess,
} from '@fleet/bus';
import { type Logger, TtlCache } from '@fleet/service-kit';

/** A caller with the device and the client's address of a request. */
export interface AccessQuery {
  readonly caller: KnownVideoCaller;
  /** Canonical number; undefined to check only the caller. */
  readonly imei?: string | undefined;
  readonly address: string;
}

/** Returns whether a change may affect a caller, who may use the vehicle of an account. */
type IsAffected = (caller: KnownVideoCaller, vehicleAccountId: number | null) => boolean;

/** Short: events invalidate entries, and an event may be lost. */
const cacheTtlMs = 2_000;
const authorizeTimeoutMs = 3_000;

/** Returns a text that is equal for equal queries. */
export const describeQuery = ({ caller, imei, address }: AccessQuery): string =>
  JSON.stringify([Object.entries(caller).toSorted(([a], [b]) => a.localeCompare(b)), imei ?? null, address]);

/**
 * Returns what callers may do with devices, from platform-api. Granted access is cached for two seconds, and evicted
 * when access or a fleet changes, or an event may have been missed.
 */
export class VideoAccessCache {
  readonly #bus: Bus;
  readonly #granted = new TtlCache<VideoAccess>({ ttlMs: cacheTtlMs });
  readonly #subscriptions: readonly { stop(): void }[];
  readonly #listeners = new Set<(isAffected: IsAffected) => void>();

  constructor(bus: Bus, log: Logger) {
    this.#bus = bus;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid access event');
    this.#subscriptions = [
      subscribe(bus, keyRevoked, onError, ({ keyId }) => this.#invalidate(dependsOnKey(keyId))),
      subscribe(bus, shareLinkRevoked, onError, ({ linkId }) =>
        this.#invalidate((caller) => caller.kind === 'link' && caller.linkId === linkId),
      ),
      subscribe(bus, accessChanged, onError, (change) => this.#invalidate(isOfUser(change))),
      subscribe(bus, fleetChanged, onError, ({ kind, accountId }) => {
        if (kind === 'vehicles') this.#invalidate(concernsAccount(accountId));
      }),
      // Events during the outage were missed.
      { stop: bus.onReconnect(() => this.#invalidate(() => true)) },
    ];
  }

  /**
   * Returns the access of a caller; throws the Platform API's error without access, and a BusError if platform-api is
   * unreachable.
   */
  get(query: AccessQuery, correlationId: string): Promise<VideoAccess> {
    return this.#granted.get(describeQuery(query), () => this.fetch(query, correlationId));
  }

  /** Like `get`, without the cache. */
  fetch({ caller, imei, address }: AccessQuery, correlationId: string): Promise<VideoAccess> {
    const body = { caller, address, ...(imei === undefined ? {} : { imei }) };
    return callUseCase(this.#bus, authorizeVideo, body, { timeoutMs: authorizeTimeoutMs, correlationId });
  }

  /** Calls back after each change. */
  onChanged(listener: (isAffected: IsAffected) => void): void {
    this.#listeners.add(listener);
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  #invalidate(isAffected: IsAffected): void {
    this.#granted.clear();
    for (const listener of this.#listeners) listener(isAffected);
  }
}

/** Without an id it may be any key. */
const dependsOnKey =
  (keyId: number | undefined): IsAffected =>
  (caller) => {
    if (keyId === undefined) return true;
    if (caller.kind === 'key') return caller.keyId === keyId;
    return caller.kind === 'user' && (caller.keyId === keyId || caller.mintedByKeyId === keyId);
  };

/** A changed account affects all callers: a dealer's includes the accounts below. */
const isOfUser =
  ({ userId, sessionId }: { userId?: number; sessionId?: number }): IsAffected =>
  (caller) => {
    if (userId === undefined && sessionId === undefined) return true;
    if (caller.kind !== 'user') return false;
    return caller.userId === userId || (sessionId !== undefined && caller.sessionId === sessionId);
  };

/**
 * A vehicle or a share of the account changed: of the caller's own, or of the one that shares the vehicle. A device
 * without a vehicle may have got one.
 */
const concernsAccount =
  (accountId: number): IsAffected =>
  (caller, vehicleAccountId) => {
    if (vehicleAccountId === null || vehicleAccountId === accountId) return true;
    return caller.kind !== 'link' && caller.accountId === accountId;
  };
