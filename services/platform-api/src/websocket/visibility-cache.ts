import { setTimeout as delay } from 'node:timers/promises';
import type { Principals } from '../access/principals.ts';
import type { Refusal } from '../access/token-holders.ts';
import type { TokenHolder } from '../domains/last-positions/websocket-tokens.ts';
import type { Deps } from '../platform/deps.ts';
import { isRefusal, loadVisibility } from './load-visibility.ts';
import { UserVisibility, type VisibilityListener } from './user-visibility.ts';
import { VisibilityInvalidations } from './visibility-invalidations.ts';
import { debounceMs, VisibilityRefresher } from './visibility-refresher.ts';

type VisibilityDeps = Pick<Deps, 'records' | 'bus' | 'redis' | 'log'> & {
  readonly principals: Principals;
  /** How long unreadable visibilities delay the others; shorter in tests. */
  readonly refreshTimeoutMs?: number;
};

/**
 * A visibility is read again after a change event, and after this time in case an event was lost; many are spread over
 * the seconds.
 */
const maxAgeMs = 15_000;
const staleBatchSize = 10;
const tickMs = 1_000;
/** Time-out of visibilities that cannot be read while no other became current. */
const defaultRefreshTimeoutMs = 15_000;

/** Caches the visibilities of all users with connections to this process. */
export class VisibilityCache {
  readonly #deps: VisibilityDeps;
  readonly #visibilities = new Map<string, UserVisibility>();
  readonly #opening = new Map<string, Promise<UserVisibility | Refusal>>();
  readonly #refresher: VisibilityRefresher;
  readonly #invalidations: VisibilityInvalidations;
  readonly #tick: NodeJS.Timeout;
  #changes = 0;
  #isStopped = false;

  constructor(deps: VisibilityDeps) {
    this.#deps = deps;
    this.#refresher = new VisibilityRefresher(deps, {
      isCached: (visibility) => this.#isCached(visibility),
      onRefused: (visibility) => this.#end(visibility, 'refused'),
    });
    this.#invalidations = new VisibilityInvalidations(deps, {
      onInvalidated: (isAffected) => this.#invalidate(isAffected),
      onMissed: (isAffected) => this.#invalidateMissed(isAffected),
    });
    this.#tick = setInterval(() => {
      this.#refreshStale();
      this.#invalidations.poll([...this.#visibilities.values()].flatMap(({ key }) => key ?? []));
    }, tickMs);
    this.#tick.unref();
  }

  /**
   * Returns the current visibility of a token's user, shared by the connections of a session with the same key. It is
   * read again for each new connection, so that earlier changes apply. The caller adds a listener immediately.
   */
  async open(holder: TokenHolder): Promise<UserVisibility | Refusal> {
    const key = cacheKey(holder);
    await this.#opening.get(key);
    const known = this.#visibilities.get(key);
    if (known !== undefined) {
      const loaded = await this.#refresher.readNow(known);
      if (isRefusal(loaded)) return loaded;
      if (this.#visibilities.get(key) === known) return known;
    }
    const opening = this.#opening.get(key) ?? this.#open(key, holder);
    this.#opening.set(key, opening);
    return opening;
  }

  /** Drops a visibility without listeners. */
  release(visibility: UserVisibility): void {
    if (visibility.listeners.size === 0 && this.#isCached(visibility)) this.#evict(visibility);
  }

  /**
   * Resolves when every cached visibility was read after this call, so that no user receives events they have lost
   * access to. One that cannot be read must not delay the others forever: its connections are closed.
   */
  async refreshAll(): Promise<void> {
    const timeoutMs = this.#deps.refreshTimeoutMs ?? defaultRefreshTimeoutMs;
    const sinceMs = performance.now();
    const findOutdated = (): UserVisibility[] =>
      [...this.#visibilities.values()].filter(({ currentAsOfMs }) => currentAsOfMs < sinceMs);
    this.#invalidateMissed(() => true);
    let [fewest, progressAtMs] = [Number.POSITIVE_INFINITY, sinceMs];
    for (let outdated = findOutdated(); outdated.length > 0 && !this.#isStopped; outdated = findOutdated()) {
      const nowMs = performance.now();
      // Many of them take their time: they are given up only without progress.
      if (outdated.length < fewest) [fewest, progressAtMs] = [outdated.length, nowMs];
      else if (nowMs - progressAtMs > timeoutMs) for (const visibility of outdated) this.#end(visibility, 'unknown');
      await delay(debounceMs, undefined, { ref: false });
    }
  }

  stop(): void {
    this.#isStopped = true;
    this.#invalidations.stop();
    clearInterval(this.#tick);
    this.#refresher.stop();
  }

  async #open(key: string, holder: TokenHolder): Promise<UserVisibility | Refusal> {
    const changes = this.#changes;
    const beganMs = performance.now();
    try {
      const loaded = await loadVisibility(this.#deps, holder);
      if (isRefusal(loaded)) return loaded;
      const visibility = new UserVisibility(holder, loaded, beganMs);
      this.#visibilities.set(key, visibility);
      // A change event arrived during the read.
      if (changes !== this.#changes) this.#refresher.schedule([visibility]);
      return visibility;
    } finally {
      this.#opening.delete(key);
    }
  }

  #invalidate(isAffected: (visibility: UserVisibility) => boolean): void {
    this.#changes += 1;
    this.#refresher.schedule([...this.#visibilities.values()].filter(isAffected));
  }

  // The event that drops cached principals was missed, too.
  #invalidateMissed(isAffected: (visibility: UserVisibility) => boolean): void {
    this.#deps.principals.invalidateAll();
    this.#invalidate(isAffected);
  }

  // Oldest first, and not all at once.
  #refreshStale(): void {
    const staleBeforeMs = performance.now() - maxAgeMs;
    const stale = [...this.#visibilities.values()]
      .filter(({ readAtMs }) => readAtMs <= staleBeforeMs)
      .toSorted((a, b) => a.readAtMs - b.readAtMs)
      .slice(0, staleBatchSize);
    for (const visibility of stale) this.release(visibility);
    this.#refresher.refresh(stale.filter((visibility) => this.#isCached(visibility)));
  }

  // A new client is checked again, while the connections may take their time to close.
  #end(visibility: UserVisibility, why: Parameters<VisibilityListener['visibilityEnded']>[0]): void {
    this.#evict(visibility);
    visibility.end(why);
  }

  #isCached(visibility: UserVisibility): boolean {
    return this.#visibilities.get(cacheKey(visibility.holder)) === visibility;
  }

  #evict(visibility: UserVisibility): void {
    if (this.#isCached(visibility)) this.#visibilities.delete(cacheKey(visibility.holder));
    this.#refresher.cancel(visibility);
  }
}

/** Connections of a session with other keys have another visibility, and are closed with these. */
const cacheKey = ({ accountId, userId, sessionId, mintedByKeyId, keyId, scopes }: TokenHolder): string =>
  [accountId, userId, sessionId, mintedByKeyId, keyId, scopes.toSorted().join()].join(':');
