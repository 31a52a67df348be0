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
import { ApiKeyMonitor, type HangingKey } from './api-key-monitor.ts';
import type { Audience } from './live-event.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'redis' | 'log'> & {
  readonly principals: Principals;
  /** How long unreadable visibilities delay the others; shorter in tests. */
  readonly currentWithinMs?: number;
};

/** What a user may see of a vehicle. */
export interface EventAccess {
  readonly audience: Exclude<Audience, 'public'>;
  readonly permissions: readonly SharePermission[];
}

/** Visibility of a user at a time. */
interface Seen {
  readonly caller: Viewer;
  readonly own: EventAccess;
  /** Null: the whole account. */
  readonly ownIds: ReadonlySet<number> | null;
  readonly shares: ReadonlyMap<number, SharedVehicle>;
  readonly wants: (vehicleId: number, type: string) => boolean;
  /** Null without any that can change. */
  readonly key: HangingKey | null;
}

/** Receiver of changes. */
export interface ViewListener {
  /** The visibility was read again; names vehicles whose share began or ended. */
  viewChanged(change: { readonly shared: readonly number[]; readonly unshared: readonly number[] }): void;
  /** The user lost access, or the visibility cannot be read. */
  viewEnded(why: 'refused' | 'unknown'): void;
}

/**
 * Visibility of a token's user, kept current while it has listeners; shared by the connections of a session with the
 * same key.
 */
export class UserVisibility {
  readonly holder: TokenHolder;
  readonly listeners = new Set<ViewListener>();
  readAtMs = performance.now();
  /** Start of the read that is in use: it includes earlier changes. */
  currentOfMs: number;
  #seen: Seen;
  #reads = 0;
  #shownRead = 0;

  constructor(holder: TokenHolder, seen: Seen, currentOfMs: number) {
    this.holder = holder;
    this.#seen = seen;
    this.currentOfMs = currentOfMs;
  }

  get caller(): Viewer {
    return this.#seen.caller;
  }

  get ownIds(): ReadonlySet<number> | null {
    return this.#seen.ownIds;
  }

  /** Those that have not ended. */
  get shares(): SharedVehicle[] {
    return [...this.#seen.shares.values()].filter(isLive);
  }

  /** The API key on which all this depends. */
  get key(): HangingKey | null {
    return this.#seen.key;
  }

  /** Returns whether the API key is valid at an address. */
  isOpenFrom(address: string): boolean {
    return isIpAllowed(this.#seen.key?.addresses ?? [], address);
  }

  /** Returns whether the token's API key has one of these scopes. */
  hasScope(oneOf: readonly KeyScope[]): boolean {
    return oneOf.some((scope) => this.holder.scopes.includes(scope));
  }

  /** Returns what the user may see of a vehicle, null for an invisible one. */
  accessTo(accountId: number, vehicleId: number): EventAccess | null {
    const { caller, own, ownIds, shares } = this.#seen;
    if (accountId === caller.accountId && (ownIds === null || ownIds.has(vehicleId))) return own;
    const share = shares.get(vehicleId);
    if (share === undefined || share.accountId !== accountId || !isLive(share)) return null;
    return { audience: 'shared', permissions: share.permissions };
  }

  /** Returns whether the user selected a type of notification. */
  wants(vehicleId: number, type: string): boolean {
    return this.#seen.wants(vehicleId, type);
  }

  /** Numbers a read that starts now. */
  beginRead(): { readonly number: number; readonly atMs: number } {
    this.#reads += 1;
    return { number: this.#reads, atMs: performance.now() };
  }

  /** Applies the result of a read, unless a later read has ended before it. */
  update(seen: Seen, { number, atMs }: ReturnType<UserVisibility['beginRead']>): void {
    if (number < this.#shownRead) return;
    this.#shownRead = number;
    this.currentOfMs = atMs;
    const before = this.#seen.shares;
    this.#seen = seen;
    const shared = [...seen.shares.keys()].filter((id) => !before.has(id));
    const unshared = [...before.keys()].filter((id) => !seen.shares.has(id));
    for (const listener of this.listeners) listener.viewChanged({ shared, unshared });
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
const oldAtOnce = 10;
const tickMs = 1_000;
/** Concurrent changes are read once. */
const gatherMs = 50;
const readsAtOnce = 8;
/** Time-out of visibilities that cannot be read while no other became current. */
const currentWithinMs = 15_000;

/** Visibilities of all users with connections to this process. */
export class VisibilityCache {
  readonly #parts: Parts;
  readonly #views = new Map<string, UserVisibility>();
  readonly #opening = new Map<string, Promise<UserVisibility | Refusal>>();
  readonly #due = new Set<UserVisibility>();
  /** Reads for opening connections: the current one, and the next. */
  readonly #running = new Map<UserVisibility, Promise<Seen | Refusal>>();
  readonly #waiting = new Map<UserVisibility, Promise<Seen | Refusal>>();
  readonly #heard: readonly { stop(): void }[];
  readonly #unheard: MissedInvalidations;
  readonly #keys: ApiKeyMonitor;
  readonly #tick: NodeJS.Timeout;
  #gathering: NodeJS.Timeout | undefined;
  #reading = 0;
  #changes = 0;
  #isStopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { bus, redis, log } = parts;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid access event');
    this.#unheard = new MissedInvalidations(redis);
    this.#keys = new ApiKeyMonitor({
      addressesOf: async (key) => (await findKeyById(parts.records, key, key.id))?.ipAllowlist ?? null,
      onChanged: (keyId) => {
        parts.principals.invalidateAll();
        this.#reread(hangsOn(keyId));
      },
      log,
    });
    const off = bus.onReconnect(() => this.#rereadAll());
    this.#heard = [
      subscribe(bus, accessChanged, onError, ({ userId, sessionId }) => this.#reread(whose(userId, sessionId))),
      subscribe(bus, keyRevoked, onError, ({ keyId }) => this.#reread(hangsOn(keyId))),
      subscribe(bus, fleetChanged, onError, (change) => this.#reread((view) => concerns(view, change))),
      { stop: () => off() },
    ];
    this.#tick = setInterval(() => {
      this.#rereadOld();
      void this.#rereadUnheard();
      void this.#keys.look([...this.#views.values()].flatMap(({ key }) => key ?? []));
    }, tickMs);
    this.#tick.unref();
  }

  /**
   * Returns the current visibility of a token's user, shared by the connections of a session with the same key. It is
   * read again for each new connection, so that earlier changes apply. The caller adds a listener immediately.
   */
  async open(holder: TokenHolder): Promise<UserVisibility | Refusal> {
    const key = keyOf(holder);
    await this.#opening.get(key);
    const known = this.#views.get(key);
    if (known !== undefined) {
      const seen = await this.#readAnew(known);
      if (seen === 'token' || seen === 'suspended') return seen;
      if (this.#views.get(key) === known) return known;
    }
    const opening = this.#opening.get(key) ?? this.#open(key, holder);
    this.#opening.set(key, opening);
    return opening;
  }

  /** Drops a visibility without listeners. */
  release(view: UserVisibility): void {
    if (view.listeners.size === 0 && this.#views.get(keyOf(view.holder)) === view) {
      this.#views.delete(keyOf(view.holder));
      this.#due.delete(view);
    }
  }

  /**
   * Resolves when every cached visibility was read after this call, so that no user receives events they have lost
   * access to. One that cannot be read must not delay the others forever: its connections are closed.
   */
  async current(): Promise<void> {
    const limitMs = this.#parts.currentWithinMs ?? currentWithinMs;
    const sinceMs = performance.now();
    const areOld = (): UserVisibility[] => [...this.#views.values()].filter(({ currentOfMs }) => currentOfMs < sinceMs);
    this.#rereadAll();
    let [fewest, movedMs] = [Number.POSITIVE_INFINITY, sinceMs];
    for (let old = areOld(); old.length > 0 && !this.#isStopped; old = areOld()) {
      const nowMs = performance.now();
      // Many of them take their time: they are given up only without progress.
      if (old.length < fewest) [fewest, movedMs] = [old.length, nowMs];
      else if (nowMs - movedMs > limitMs) for (const view of old) this.#end(view, 'unknown');
      await delay(gatherMs, undefined, { ref: false });
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const received of this.#heard) received.stop();
    clearInterval(this.#tick);
    clearTimeout(this.#gathering);
    this.#due.clear();
  }

  async #open(key: string, holder: TokenHolder): Promise<UserVisibility | Refusal> {
    const changes = this.#changes;
    const beganMs = performance.now();
    try {
      const seen = await read(this.#parts, holder);
      if (seen === 'token' || seen === 'suspended') return seen;
      const view = new UserVisibility(holder, seen, beganMs);
      this.#views.set(key, view);
      // A change event arrived during the read.
      if (changes !== this.#changes) this.#reread((each) => each === view);
      return view;
    } finally {
      this.#opening.delete(key);
    }
  }

  /** Handles a change whose event may have been missed. */
  #rereadAll(): void {
    this.#parts.principals.invalidateAll();
    this.#reread(() => true);
  }

  async #rereadUnheard(): Promise<void> {
    if (await this.#unheard.hasNew()) this.#rereadAll();
  }

  #reread(which: (view: UserVisibility) => boolean): void {
    this.#changes += 1;
    for (const view of this.#views.values()) if (which(view)) this.#due.add(view);
    if (this.#due.size === 0) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#work();
    }, gatherMs);
  }

  /** Oldest first, with limited concurrency: they are in the order of their reads. */
  #rereadOld(): void {
    const olderMs = performance.now() - maxAgeMs;
    let count = 0;
    for (const view of this.#views.values()) {
      if (view.readAtMs > olderMs || count === oldAtOnce) break;
      count += 1;
      if (view.listeners.size === 0) this.release(view);
      else this.#due.add(view);
    }
    this.#work();
  }

  #work(): void {
    for (const view of this.#due) {
      if (this.#reading >= readsAtOnce) return;
      this.#due.delete(view);
      this.#reading += 1;
      void this.#refresh(view).finally(() => {
        this.#reading -= 1;
        this.#work();
      });
    }
  }

  async #refresh(view: UserVisibility): Promise<void> {
    view.readAtMs = performance.now();
    const key = keyOf(view.holder);
    if (this.#views.get(key) === view && this.#views.delete(key)) this.#views.set(key, view);
    try {
      await this.#read(view);
    } catch (error) {
      // A failed read decides nothing: it is retried soon.
      setTimeout(() => this.#views.get(key) === view && this.#due.add(view), tickMs).unref();
      this.#parts.log.warn({ err: error, userId: view.holder.userId }, 'could not read the visibility of a user');
    }
  }

  /** Starts a read after this call; callers during a read share the next one. */
  #readAnew(view: UserVisibility): Promise<Seen | Refusal> {
    const waiting = this.#waiting.get(view);
    if (waiting !== undefined) return waiting;
    const ready = this.#running.get(view)?.catch(() => undefined) ?? Promise.resolve();
    const next = ready.then(() => {
      this.#waiting.delete(view);
      const running = this.#read(view).finally(() => this.#running.delete(view));
      this.#running.set(view, running);
      return running;
    });
    this.#waiting.set(view, next);
    return next;
  }

  /** Reads a visibility again; ends one whose user lost access. */
  async #read(view: UserVisibility): Promise<Seen | Refusal> {
    const reading = view.beginRead();
    const seen = await read(this.#parts, view.holder);
    if (seen !== 'token' && seen !== 'suspended') view.update(seen, reading);
    else this.#end(view, 'refused');
    return seen;
  }

  /** Its connections may take their time to close; a new client is checked again. */
  #end(view: UserVisibility, why: Parameters<ViewListener['viewEnded']>[0]): void {
    const key = keyOf(view.holder);
    if (this.#views.get(key) === view) this.#views.delete(key);
    this.#due.delete(view);
    for (const listener of view.listeners) listener.viewEnded(why);
  }
}

/** Connections of a session with other keys have another visibility, and are closed with these. */
const keyOf = ({ accountId, userId, sessionId, mintedByKeyId, keyId, scopes }: TokenHolder): string =>
  [accountId, userId, sessionId, mintedByKeyId, keyId, scopes.toSorted().join()].join(':');

/** Without an id it may be any key. */
const hangsOn =
  (keyId: number | undefined) =>
  ({ holder }: UserVisibility): boolean =>
    keyId === undefined || holder.keyId === keyId || holder.mintedByKeyId === keyId;

/** A changed account affects all: a dealer includes the accounts below. */
const whose = (userId: number | undefined, sessionId: number | undefined) => (view: UserVisibility) =>
  (userId === undefined && sessionId === undefined) ||
  view.holder.userId === userId ||
  (sessionId !== undefined && view.holder.sessionId === sessionId);

/** Vehicles change often, and most users see all vehicles of their account. */
function concerns(view: UserVisibility, { accountId, kind }: Static<typeof fleetChanged.schema>): boolean {
  const { caller, ownIds, shares } = view;
  const isOwn = caller.accountId === accountId;
  if (kind === 'preferences') return isOwn;
  if (kind !== 'vehicles') return false;
  return (isOwn && (ownIds !== null || shares.length > 0)) || shares.some((share) => share.accountId === accountId);
}

async function read({ records, principals }: Parts, holder: TokenHolder): Promise<Seen | Refusal> {
  const { accountId, userId, sessionId, mintedByKeyId, keyId } = holder;
  const home = (await findAnywhere(records, userId))?.accountId;
  if (home === undefined) return 'token';
  // As with requests: the token of a key is valid only where and while that key is.
  const hangingOn = keyId ?? (sessionId === null ? mintedByKeyId : null);
  const key = hangingOn === null ? null : await findKeyById(records, { accountId: home }, hangingOn);
  if (hangingOn !== null && key === null) return 'token';
  const principal = await principals.findPrincipal({
    accountId: home,
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
  if (home !== accountId && role !== 'superadmin') return 'token';
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
        : { accountId: home, id: key._id, addresses: key.ipAllowlist },
  };
}
