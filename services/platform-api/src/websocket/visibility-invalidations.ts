import { accessChanged, fleetChanged, keyRevoked, subscribe } from '@fleet/bus';
import type { Static } from 'typebox';
import { MissedInvalidations } from '../access/missed-invalidations.ts';
import { findKeyById } from '../domains/api-keys/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { ApiKeyMonitor, type BoundApiKey } from './api-key-monitor.ts';
import type { UserVisibility } from './user-visibility.ts';

type Predicate = (visibility: UserVisibility) => boolean;

interface InvalidationListener {
  /** Called with a predicate for the visibilities that a published change may affect. */
  onInvalidated(isAffected: Predicate): void;
  /** Called for changes that were not published; with a predicate where they are known. */
  onMissed(isAffected: Predicate): void;
}

/** Detects changes that make cached visibilities outdated. */
export class VisibilityInvalidations {
  readonly #listener: InvalidationListener;
  readonly #subscriptions: readonly { stop(): void }[];
  readonly #missed: MissedInvalidations;
  readonly #keys: ApiKeyMonitor;

  constructor(
    { records, bus, redis, log }: Pick<Deps, 'records' | 'bus' | 'redis' | 'log'>,
    listener: InvalidationListener,
  ) {
    this.#listener = listener;
    this.#missed = new MissedInvalidations(redis);
    this.#keys = new ApiKeyMonitor({
      readAllowedAddresses: async (key) => (await findKeyById(records, key, key.id))?.ipAllowlist ?? null,
      onChanged: (keyId) => listener.onMissed(dependsOnKey(keyId)),
      log,
    });
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid access event');
    const unsubscribeReconnect = bus.onReconnect(() => listener.onMissed(() => true));
    this.#subscriptions = [
      subscribe(bus, accessChanged, onError, (change) => listener.onInvalidated(isOfHolder(change))),
      subscribe(bus, keyRevoked, onError, ({ keyId }) => listener.onInvalidated(dependsOnKey(keyId))),
      subscribe(bus, fleetChanged, onError, (change) => listener.onInvalidated(isOfFleet(change))),
      { stop: () => unsubscribeReconnect() },
    ];
  }

  /** Call it each second with the keys of all visibilities. */
  poll(keys: Iterable<BoundApiKey>): void {
    void this.#pollMissed();
    void this.#keys.checkDue(keys);
  }

  stop(): void {
    for (const subscription of this.#subscriptions) subscription.stop();
  }

  async #pollMissed(): Promise<void> {
    if (await this.#missed.hasNew()) this.#listener.onMissed(() => true);
  }
}

/** Without an id it may be any key. */
const dependsOnKey =
  (keyId: number | undefined): Predicate =>
  ({ holder }) =>
    keyId === undefined || holder.keyId === keyId || holder.mintedByKeyId === keyId;

/** A changed account affects all: a dealer includes the accounts below. */
const isOfHolder =
  ({ userId, sessionId }: Static<typeof accessChanged.schema>): Predicate =>
  ({ holder }) =>
    (userId === undefined && sessionId === undefined) ||
    holder.userId === userId ||
    (sessionId !== undefined && holder.sessionId === sessionId);

/** Vehicles change often, and most users see all vehicles of their account. */
const isOfFleet =
  ({ accountId, kind }: Static<typeof fleetChanged.schema>): Predicate =>
  ({ caller, ownIds, shares }) => {
    const isOwn = caller.accountId === accountId;
    if (kind === 'preferences') return isOwn;
    if (kind !== 'vehicles') return false;
    return (isOwn && (ownIds !== null || shares.length > 0)) || shares.some((share) => share.accountId === accountId);
  };
