import { setTimeout as delay } from 'node:timers/promises';
import { accessChanged, fleetChanged, keyRevoked, subscribe } from '@fleet/bus';
import { isIpAllowed } from '@fleet/service-kit';
import type { Static } from 'typebox';
import { MissedInvalidations } from '../access/missed-invalidations.ts';
import type { Principals } from '../access/principals.ts';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import { findKeyById } from '../domains/api-keys/use-cases.ts';
import type { TokenHolder } from '../domains/last-positions/websocket-tokens.ts';
import { notificationChoices } from '../domains/notifications/preferences.ts';
import { findAnywhere } from '../domains/users/use-cases.ts';
import type { SharePermission } from '../domains/vehicle-shares/schema.ts';
import { type SharedVehicle, sharedVehicles } from '../domains/vehicle-shares/use-cases.ts';
import { accessTo, type Viewer, visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import { ApiKeyMonitor, type BoundApiKey } from './api-key-monitor.ts';
import type { Audience } from './outgoing-event.ts';

type VisibilityDeps = Pick<Deps, 'records' | 'bus' | 'redis' | 'log'> & {
  readonly principals: Principals;
  /** How long unreadable visibilities delay the others; shorter in tests. */
  readonly refreshTimeoutMs?: number;
};

/** What a user may see of a vehicle. */
export interface EventAccess {
  readonly audience: Exclude<Audience, 'public'>;
  readonly permissions: readonly SharePermission[];
}

/** Visibility of a user at a time. */
interface VisibilitySnapshot {
  readonly caller: Viewer;
  readonly own: EventAccess;
  /** Null: the whole account. */
  readonly ownIds: ReadonlySet<number> | null;
  readonly shares: ReadonlyMap<number, SharedVehicle>;
  readonly wants: (vehicleId: number, type: string) => boolean;
  /** Null without any that can change. */
  readonly key: BoundApiKey | null;
}

/** Receiver of changes. */
export interface VisibilityListener {
  /** The visibility was read again; names vehicles whose share began or ended. */
  visibilityChanged(change: { readonly shared: readonly number[]; readonly unshared: readonly number[] }): void;
  /** The user lost access, or the visibility cannot be read. */
  visibilityEnded(why: 'refused' | 'unknown'): void;
}

/**
 * Visibility of a token's user, kept current while it has listeners; shared by the connections of a session with the
 * same key.
 */
export class UserVisibility {
  readonly holder: TokenHolder;
  readonly listeners = new Set<VisibilityListener>();
  readAtMs = performance.now();
  /** Start of the read that is in use: it includes earlier changes. */
  currentAsOfMs: number;
  #snapshot: VisibilitySnapshot;
  #reads = 0;
  #appliedRead = 0;

  constructor(holder: TokenHolder, snapshot: VisibilitySnapshot, currentAsOfMs: number) {
    this.holder = holder;
    this.#snapshot = snapshot;
    this.currentAsOfMs = currentAsOfMs;
  }

  get caller(): Viewer {
    return this.#snapshot.caller;
  }

  get ownIds(): ReadonlySet<number> | null {
    return this.#snapshot.ownIds;
  }

  /** Those that have not ended. */
  get shares(): SharedVehicle[] {
    return [...this.#snapshot.shares.values()].filter(isLive);
  }

  /** The API key on which all this depends. */
  get key(): BoundApiKey | null {
    return this.#snapshot.key;
  }

  /** Returns whether the API key is valid at an address. */
  isOpenFrom(address: string): boolean {
    return isIpAllowed(this.#snapshot.key?.addresses ?? [], address);
  }

  /** Returns whether the token's API key has one of these scopes. */
  hasScope(oneOf: readonly KeyScope[]): boolean {
    return oneOf.some((scope) => this.holder.scopes.includes(scope));
  }

  /** Returns what the user may see of a vehicle, null for an invisible one. */
  accessTo(accountId: number, vehicleId: number): EventAccess | null {
    const { caller, own, ownIds, shares } = this.#snapshot;
    if (accountId === caller.accountId && (ownIds === null || ownIds.has(vehicleId))) return own;
    const share = shares.get(vehicleId);
    if (share === undefined || share.accountId !== accountId || !isLive(share)) return null;
    return { audience: 'shared', permissions: share.permissions };
  }

  /** Returns whether the user selected a type of notification. */
  wants(vehicleId: number, type: string): boolean {
    return this.#snapshot.wants(vehicleId, type);
  }

  /** Numbers a read that starts now. */
  beginRead(): { readonly number: number; readonly atMs: number } {
    this.#reads += 1;
    return { number: this.#reads, atMs: performance.now() };
  }

  /** Applies the result of a read, unless a later read has ended before it. */
  update(snapshot: VisibilitySnapshot, { number, atMs }: ReturnType<UserVisibility['beginRead']>): void {
    if (number < this.#appliedRead) return;
    this.#appliedRead = number;
    this.currentAsOfMs = atMs;
    const before = this.#snapshot.shares;
    this.#snapshot = snapshot;
    const shared = [...snapshot.shares.keys()].filter((id) => !before.has(id));
    const unshared = [...before.keys()].filter((id) => !snapshot.shares.has(id));
    for (const listener of this.listeners) listener.visibilityChanged({ shared, unshared });
  }
}

const isLive = ({ expiresAt }: SharedVehicle): boolean => expiresAt === null || expiresAt.getTime() > Date.now();

/** Reason of a rejected user. */
export type Refusal = 'token' | 'suspended';

/**
 * A visibility is read again after a change event, and after this time in case an event was lost; many are spread over
 * the seconds.
 */
const maxAgeMs = 15_000;
const staleBatchSize = 10;
const tickMs = 1_000;
/** Concurrent changes are read once. */
const debounceMs = 50;
const readConcurrency = 8;
/** Time-out of visibilities that cannot be read while no other became current. */
const refreshTimeoutMs = 15_000;

/** Visibilities of all users with connections to this process. */
export class VisibilityCache {
  readonly #deps: VisibilityDeps;
  readonly #visibilities = new Map<string, UserVisibility>();
  readonly #opening = new Map<string, Promise<UserVisibility | Refusal>>();
  readonly #due = new Set<UserVisibility>();
  /** Reads for opening connections: the current one, and the next. */
  readonly #running = new Map<UserVisibility, Promise<VisibilitySnapshot | Refusal>>();
  readonly #waiting = new Map<UserVisibility, Promise<VisibilitySnapshot | Refusal>>();
  readonly #subscriptions: readonly { stop(): void }[];
  readonly #missedInvalidations: MissedInvalidations;
  readonly #keys: ApiKeyMonitor;
  readonly #tick: NodeJS.Timeout;
  #debounce: NodeJS.Timeout | undefined;
  #reading = 0;
  #changes = 0;
  #isStopped = false;

  constructor(deps: VisibilityDeps) {
    this.#deps = deps;
    const { bus, redis, log } = deps;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid access event');
    this.#missedInvalidations = new MissedInvalidations(redis);
    this.#keys = new ApiKeyMonitor({
      readAllowedAddresses: async (key) => (await findKeyById(deps.records, key, key.id))?.ipAllowlist ?? null,
      onChanged: (keyId) => {
        deps.principals.invalidateAll();
        this.#invalidate(dependsOnKey(keyId));
      },
      log,
    });
    const off = bus.onReconnect(() => this.#invalidateAll());
    this.#subscriptions = [
      subscribe(bus, accessChanged, onError, ({ userId, sessionId }) => this.#invalidate(belongsTo(userId, sessionId))),
      subscribe(bus, keyRevoked, onError, ({ keyId }) => this.#invalidate(dependsOnKey(keyId))),
      subscribe(bus, fleetChanged, onError, (change) =>
        this.#invalidate((visibility) => isAffectedBy(visibility, change)),
      ),
      { stop: () => off() },
    ];
    this.#tick = setInterval(() => {
      this.#refreshStale();
      void this.#refreshMissed();
      void this.#keys.checkDue([...this.#visibilities.values()].flatMap(({ key }) => key ?? []));
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
      const snapshot = await this.#readNow(known);
      if (snapshot === 'token' || snapshot === 'suspended') return snapshot;
      if (this.#visibilities.get(key) === known) return known;
    }
    const opening = this.#opening.get(key) ?? this.#open(key, holder);
    this.#opening.set(key, opening);
    return opening;
  }

  /** Drops a visibility without listeners. */
  release(visibility: UserVisibility): void {
    if (visibility.listeners.size === 0 && this.#visibilities.get(cacheKey(visibility.holder)) === visibility) {
      this.#visibilities.delete(cacheKey(visibility.holder));
      this.#due.delete(visibility);
    }
  }

  /**
   * Resolves when every cached visibility was read after this call, so that no user receives events they have lost
   * access to. One that cannot be read must not delay the others forever: its connections are closed.
   */
  async refreshAll(): Promise<void> {
    const timeoutMs = this.#deps.refreshTimeoutMs ?? refreshTimeoutMs;
    const sinceMs = performance.now();
    const findOutdated = (): UserVisibility[] =>
      [...this.#visibilities.values()].filter(({ currentAsOfMs }) => currentAsOfMs < sinceMs);
    this.#invalidateAll();
    let [fewest, movedMs] = [Number.POSITIVE_INFINITY, sinceMs];
    for (let outdated = findOutdated(); outdated.length > 0 && !this.#isStopped; outdated = findOutdated()) {
      const nowMs = performance.now();
      // Many of them take their time: they are given up only without progress.
      if (outdated.length < fewest) [fewest, movedMs] = [outdated.length, nowMs];
      else if (nowMs - movedMs > timeoutMs) for (const visibility of outdated) this.#end(visibility, 'unknown');
      await delay(debounceMs, undefined, { ref: false });
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const received of this.#subscriptions) received.stop();
    clearInterval(this.#tick);
    clearTimeout(this.#debounce);
    this.#due.clear();
  }

  async #open(key: string, holder: TokenHolder): Promise<UserVisibility | Refusal> {
    const changes = this.#changes;
    const beganMs = performance.now();
    try {
      const snapshot = await visibilityOf(this.#deps, holder);
      if (snapshot === 'token' || snapshot === 'suspended') return snapshot;
      const visibility = new UserVisibility(holder, snapshot, beganMs);
      this.#visibilities.set(key, visibility);
      // A change event arrived during the read.
      if (changes !== this.#changes) this.#invalidate((each) => each === visibility);
      return visibility;
    } finally {
      this.#opening.delete(key);
    }
  }

  /** Handles a change whose event may have been missed. */
  #invalidateAll(): void {
    this.#deps.principals.invalidateAll();
    this.#invalidate(() => true);
  }

  async #refreshMissed(): Promise<void> {
    if (await this.#missedInvalidations.hasNew()) this.#invalidateAll();
  }

  #invalidate(which: (visibility: UserVisibility) => boolean): void {
    this.#changes += 1;
    for (const visibility of this.#visibilities.values()) if (which(visibility)) this.#due.add(visibility);
    if (this.#due.size === 0) return;
    this.#debounce ??= setTimeout(() => {
      this.#debounce = undefined;
      this.#startReads();
    }, debounceMs);
  }

  /** Oldest first, with limited concurrency: they are in the order of their reads. */
  #refreshStale(): void {
    const staleBeforeMs = performance.now() - maxAgeMs;
    let count = 0;
    for (const visibility of this.#visibilities.values()) {
      if (visibility.readAtMs > staleBeforeMs || count === staleBatchSize) break;
      count += 1;
      if (visibility.listeners.size === 0) this.release(visibility);
      else this.#due.add(visibility);
    }
    this.#startReads();
  }

  #startReads(): void {
    for (const visibility of this.#due) {
      if (this.#reading >= readConcurrency) return;
      this.#due.delete(visibility);
      this.#reading += 1;
      void this.#refresh(visibility).finally(() => {
        this.#reading -= 1;
        this.#startReads();
      });
    }
  }

  async #refresh(visibility: UserVisibility): Promise<void> {
    visibility.readAtMs = performance.now();
    const key = cacheKey(visibility.holder);
    if (this.#visibilities.get(key) === visibility && this.#visibilities.delete(key))
      this.#visibilities.set(key, visibility);
    try {
      await this.#read(visibility);
    } catch (error) {
      // A failed read decides nothing: it is retried soon.
      setTimeout(() => this.#visibilities.get(key) === visibility && this.#due.add(visibility), tickMs).unref();
      this.#deps.log.warn({ err: error, userId: visibility.holder.userId }, 'could not read the visibility of a user');
    }
  }

  /** Starts a read after this call; callers during a read share the next one. */
  #readNow(visibility: UserVisibility): Promise<VisibilitySnapshot | Refusal> {
    const waiting = this.#waiting.get(visibility);
    if (waiting !== undefined) return waiting;
    const ready = this.#running.get(visibility)?.catch(() => undefined) ?? Promise.resolve();
    const next = ready.then(() => {
      this.#waiting.delete(visibility);
      const running = this.#read(visibility).finally(() => this.#running.delete(visibility));
      this.#running.set(visibility, running);
      return running;
    });
    this.#waiting.set(visibility, next);
    return next;
  }

  /** Reads a visibility again; ends one whose user lost access. */
  async #read(visibility: UserVisibility): Promise<VisibilitySnapshot | Refusal> {
    const reading = visibility.beginRead();
    const snapshot = await visibilityOf(this.#deps, visibility.holder);
    if (snapshot !== 'token' && snapshot !== 'suspended') visibility.update(snapshot, reading);
    else this.#end(visibility, 'refused');
    return snapshot;
  }

  /** Its connections may take their time to close; a new client is checked again. */
  #end(visibility: UserVisibility, why: Parameters<VisibilityListener['visibilityEnded']>[0]): void {
    const key = cacheKey(visibility.holder);
    if (this.#visibilities.get(key) === visibility) this.#visibilities.delete(key);
    this.#due.delete(visibility);
    for (const listener of visibility.listeners) listener.visibilityEnded(why);
  }
}

/** Connections of a session with other keys have another visibility, and are closed with these. */
const cacheKey = ({ accountId, userId, sessionId, mintedByKeyId, keyId, scopes }: TokenHolder): string =>
  [accountId, userId, sessionId, mintedByKeyId, keyId, scopes.toSorted().join()].join(':');

/** Without an id it may be any key. */
const dependsOnKey =
  (keyId: number | undefined) =>
  ({ holder }: UserVisibility): boolean =>
    keyId === undefined || holder.keyId === keyId || holder.mintedByKeyId === keyId;

/** A changed account affects all: a dealer includes the accounts below. */
const belongsTo = (userId: number | undefined, sessionId: number | undefined) => (visibility: UserVisibility) =>
  (userId === undefined && sessionId === undefined) ||
  visibility.holder.userId === userId ||
  (sessionId !== undefined && visibility.holder.sessionId === sessionId);

/** Vehicles change often, and most users see all vehicles of their account. */
function isAffectedBy(visibility: UserVisibility, { accountId, kind }: Static<typeof fleetChanged.schema>): boolean {
  const { caller, ownIds, shares } = visibility;
  const isOwn = caller.accountId === accountId;
  if (kind === 'preferences') return isOwn;
  if (kind !== 'vehicles') return false;
  return (isOwn && (ownIds !== null || shares.length > 0)) || shares.some((share) => share.accountId === accountId);
}

async function visibilityOf(
  { records, principals }: VisibilityDeps,
  holder: TokenHolder,
): Promise<VisibilitySnapshot | Refusal> {
  const { accountId, userId, sessionId, mintedByKeyId, keyId } = holder;
  const homeAccountId = (await findAnywhere(records, userId))?.accountId;
  if (homeAccountId === undefined) return 'token';
  // As with requests: the token of a key is valid only where and while that key is.
  const boundKeyId = keyId ?? (sessionId === null ? mintedByKeyId : null);
  const key = boundKeyId === null ? null : await findKeyById(records, { accountId: homeAccountId }, boundKeyId);
  if (boundKeyId !== null && key === null) return 'token';
  const principal = await principals.findPrincipal({
    accountId: homeAccountId,
    userId,
    sessionId,
    mintedByKeyId,
    role: 'viewer',
  });
  if (principal === null) return 'token';
  if (principal.isSuspended) return 'suspended';
  const { role, canViewVideo } = principal.user;
  const caller = { accountId, userId, role, canViewVideo };
  // Only staff of the operator may act in other accounts.
  if (homeAccountId !== accountId && role !== 'superadmin') return 'token';
  const [shared, choices, ids] = await Promise.all([
    sharedVehicles({ records }, caller),
    notificationChoices({ records }, userId),
    role === 'driver' ? visibleVehicleIds({ records }, caller) : null,
  ]);
  const shares = new Map(shared.map((share) => [share.vehicleId, share]));
  const { permissions } = accessTo({ accountId, ownerUserId: userId }, caller, undefined);
  return {
    caller,
    own: { audience: role === 'driver' ? 'driver' : 'own', permissions },
    ownIds: ids && new Set(ids.filter((id) => !shares.has(id))),
    shares,
    wants: choices,
    // A dashboard key is valid everywhere, and permanently.
    key:
      key === null || key.sealedDashboardKey !== null
        ? null
        : { accountId: homeAccountId, id: key._id, addresses: key.ipAllowlist },
  };
}
