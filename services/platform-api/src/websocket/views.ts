import { setTimeout as delay } from 'node:timers/promises';
import { accessChanged, fleetChanged, keyRevoked, subscribe } from '@fleet/bus';
import { isIpAllowed } from '@fleet/service-kit';
import type { Static } from 'typebox';
import { MissedInvalidations } from '../access/missed-invalidations.ts';
import type { Principals } from '../access/principals.ts';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import { findKeyById } from '../domains/api-keys/use-cases.ts';
import { notificationChoices } from '../domains/notifications/preferences.ts';
import type { TokenHolder } from '../domains/realtime/websocket-tokens.ts';
import type { SharePermission } from '../domains/sharing/schema.ts';
import { type SharedVehicle, sharedVehicles } from '../domains/sharing/use-cases.ts';
import { findAnywhere } from '../domains/users/use-cases.ts';
import { accessTo, type Viewer, visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import { type HangingKey, KeyWatch } from './key-watch.ts';
import type { Audience } from './live-event.ts';

type Parts = Pick<Deps, 'records' | 'bus' | 'redis' | 'log'> & {
  readonly principals: Principals;
  /** How long views that can not be read hold up the others; tests are in a hurry. */
  readonly currentWithinMs?: number;
};

/** What a user may be told of a vehicle. */
export interface EventAccess {
  readonly audience: Exclude<Audience, 'public'>;
  readonly permissions: readonly SharePermission[];
}

/** What a user sees at a moment. */
interface Seen {
  readonly caller: Viewer;
  readonly own: EventAccess;
  /** Null: all of the account. */
  readonly ownIds: ReadonlySet<number> | null;
  readonly shares: ReadonlyMap<number, SharedVehicle>;
  readonly wants: (vehicleId: number, type: string) => boolean;
  /** Null where there is none that can change. */
  readonly key: HangingKey | null;
}

/** Whom a change of a view is told. */
export interface ViewListener {
  /** What the user sees has been read again; vehicles that are shared with the user since, or not any more. */
  viewChanged(change: { readonly shared: readonly number[]; readonly unshared: readonly number[] }): void;
  /** The user is not let in any more, or it can not be found out what the user sees. */
  viewEnded(why: 'refused' | 'unknown'): void;
}

/** What the user of a token sees, kept current while somebody listens; shared by the connections of a session with the same key. */
export class UserView {
  readonly holder: TokenHolder;
  readonly listeners = new Set<ViewListener>();
  readAtMs = performance.now();
  /** When the reading began that is shown: what was changed before is in it. */
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

  /** The API key that all this hangs on, and ends with. */
  get key(): HangingKey | null {
    return this.#seen.key;
  }

  /** Whether the API key is valid from an address. */
  isOpenFrom(address: string): boolean {
    return isIpAllowed(this.#seen.key?.addresses ?? [], address);
  }

  /** Whether the API key that the token was got with has one of these scopes. */
  hasScope(oneOf: readonly KeyScope[]): boolean {
    return oneOf.some((scope) => this.holder.scopes.includes(scope));
  }

  /** What the user may be told of a vehicle of an account, null for one that is not visible. */
  accessTo(accountId: number, vehicleId: number): EventAccess | null {
    const { caller, own, ownIds, shares } = this.#seen;
    if (accountId === caller.accountId && (ownIds === null || ownIds.has(vehicleId))) return own;
    const share = shares.get(vehicleId);
    if (share === undefined || share.accountId !== accountId || !isLive(share)) return null;
    return { audience: 'shared', permissions: share.permissions };
  }

  /** Whether the user wants to be told of a type of notification. */
  wants(vehicleId: number, type: string): boolean {
    return this.#seen.wants(vehicleId, type);
  }

  /** Numbers a reading that begins now. */
  beginRead(): { readonly number: number; readonly atMs: number } {
    this.#reads += 1;
    return { number: this.#reads, atMs: performance.now() };
  }

  /** Takes what a reading has found, unless one that began later has ended before it. */
  update(seen: Seen, { number, atMs }: ReturnType<UserView['beginRead']>): void {
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

/** Why a user is not let in. */
export type Refusal = 'token' | 'suspended';

/** A view is read again when something is said to have changed, and after this time because what was said may have got lost; where there are many, so many in each second. */
const maxAgeMs = 15_000;
const oldAtOnce = 10;
const tickMs = 1_000;
/** Several changes at once are read once. */
const gatherMs = 50;
const readsAtOnce = 8;
/** Views that could not be read again for so long, while none of the others became current either, are waited for no longer. */
const currentWithinMs = 15_000;

/** The views of all users who have connections to this process. */
export class Views {
  readonly #parts: Parts;
  readonly #views = new Map<string, UserView>();
  readonly #opening = new Map<string, Promise<UserView | Refusal>>();
  readonly #due = new Set<UserView>();
  /** Readings for connections that open: under way, and the next. */
  readonly #running = new Map<UserView, Promise<Seen | Refusal>>();
  readonly #waiting = new Map<UserView, Promise<Seen | Refusal>>();
  readonly #heard: readonly { stop(): void }[];
  readonly #unheard: MissedInvalidations;
  readonly #keys: KeyWatch;
  readonly #tick: NodeJS.Timeout;
  #gathering: NodeJS.Timeout | undefined;
  #reading = 0;
  #changes = 0;
  #isStopped = false;

  constructor(parts: Parts) {
    this.#parts = parts;
    const { bus, redis, log } = parts;
    const onError = (error: unknown): void => log.warn({ err: error }, 'a change of access could not be read');
    this.#unheard = new MissedInvalidations(redis);
    this.#keys = new KeyWatch({
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
   * What the user of a token sees now; the same view for all connections of a session with the same key. It is read again for each that opens: what was changed before counts for it. The
   * caller adds a listener at once.
   */
  async open(holder: TokenHolder): Promise<UserView | Refusal> {
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

  /** Forgets a view that nobody listens to. */
  release(view: UserView): void {
    if (view.listeners.size === 0 && this.#views.get(keyOf(view.holder)) === view) {
      this.#views.delete(keyOf(view.holder));
      this.#due.delete(view);
    }
  }

  /**
   * Resolves once all views are as of a moment behind this call: nobody is told of what was taken from them before. One that can not be read must not hold up the others
   * for ever: it ends, as nobody knows what its user may be told.
   */
  async current(): Promise<void> {
    const limitMs = this.#parts.currentWithinMs ?? currentWithinMs;
    const sinceMs = performance.now();
    const areOld = (): UserView[] => [...this.#views.values()].filter(({ currentOfMs }) => currentOfMs < sinceMs);
    this.#rereadAll();
    let [fewest, movedMs] = [Number.POSITIVE_INFINITY, sinceMs];
    for (let old = areOld(); old.length > 0 && !this.#isStopped; old = areOld()) {
      const nowMs = performance.now();
      // Where there are many they take their time: only when it does not go on are they given up.
      if (old.length < fewest) [fewest, movedMs] = [old.length, nowMs];
      else if (nowMs - movedMs > limitMs) for (const view of old) this.#end(view, 'unknown');
      await delay(gatherMs, undefined, { ref: false });
    }
  }

  stop(): void {
    this.#isStopped = true;
    for (const heard of this.#heard) heard.stop();
    clearInterval(this.#tick);
    clearTimeout(this.#gathering);
    this.#due.clear();
  }

  async #open(key: string, holder: TokenHolder): Promise<UserView | Refusal> {
    const changes = this.#changes;
    const beganMs = performance.now();
    try {
      const seen = await read(this.#parts, holder);
      if (seen === 'token' || seen === 'suspended') return seen;
      const view = new UserView(holder, seen, beganMs);
      this.#views.set(key, view);
      // Something was said to have changed while it was read.
      if (changes !== this.#changes) this.#reread((each) => each === view);
      return view;
    } finally {
      this.#opening.delete(key);
    }
  }

  /** Something has changed of which nothing was heard. */
  #rereadAll(): void {
    this.#parts.principals.invalidateAll();
    this.#reread(() => true);
  }

  async #rereadUnheard(): Promise<void> {
    if (await this.#unheard.hasNew()) this.#rereadAll();
  }

  #reread(which: (view: UserView) => boolean): void {
    this.#changes += 1;
    for (const view of this.#views.values()) if (which(view)) this.#due.add(view);
    if (this.#due.size === 0) return;
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#work();
    }, gatherMs);
  }

  /** The oldest first, and only so many at a time: they are in the order in which they were read. */
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

  async #refresh(view: UserView): Promise<void> {
    view.readAtMs = performance.now();
    const key = keyOf(view.holder);
    if (this.#views.get(key) === view && this.#views.delete(key)) this.#views.set(key, view);
    try {
      await this.#read(view);
    } catch (error) {
      // That nobody could look is no verdict: it is looked again in a moment.
      setTimeout(() => this.#views.get(key) === view && this.#due.add(view), tickMs).unref();
      this.#parts.log.warn({ err: error, userId: view.holder.userId }, 'what a user sees could not be read again');
    }
  }

  /** A reading that begins behind this call; those who ask while another is under way share the next one. */
  #readAnew(view: UserView): Promise<Seen | Refusal> {
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

  /** Reads a view again; one of a user who is not let in any more ends. */
  async #read(view: UserView): Promise<Seen | Refusal> {
    const reading = view.beginRead();
    const seen = await read(this.#parts, view.holder);
    if (seen !== 'token' && seen !== 'suspended') view.update(seen, reading);
    else this.#end(view, 'refused');
    return seen;
  }

  /** Its connections may take their time to end; whoever comes meanwhile is judged anew. */
  #end(view: UserView, why: Parameters<ViewListener['viewEnded']>[0]): void {
    const key = keyOf(view.holder);
    if (this.#views.get(key) === view) this.#views.delete(key);
    this.#due.delete(view);
    for (const listener of view.listeners) listener.viewEnded(why);
  }
}

/** Connections of a session that were opened with other keys see something else, and end with these. */
const keyOf = ({ accountId, userId, sessionId, mintedByKeyId, keyId, scopes }: TokenHolder): string =>
  [accountId, userId, sessionId, mintedByKeyId, keyId, scopes.toSorted().join()].join(':');

/** Without an id it may be any key. */
const hangsOn =
  (keyId: number | undefined) =>
  ({ holder }: UserView): boolean =>
    keyId === undefined || holder.keyId === keyId || holder.mintedByKeyId === keyId;

/** Of an account that changes, all: a dealer takes those below along. */
const whose = (userId: number | undefined, sessionId: number | undefined) => (view: UserView) =>
  (userId === undefined && sessionId === undefined) ||
  view.holder.userId === userId ||
  (sessionId !== undefined && view.holder.sessionId === sessionId);

/** Vehicles change all the time, and most users see all of their account, whichever there are. */
function concerns(view: UserView, { accountId, kind }: Static<typeof fleetChanged.schema>): boolean {
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
  // As with requests: a token alone is valid where, and while, the key is that minted it.
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
  // The operator's staff alone act in other accounts.
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
    // That of a dashboard is valid from everywhere, and stays.
    key:
      key === null || key.sealedDashboardKey !== null
        ? null
        : { accountId: home, id: key._id, addresses: key.ipAllowlist },
  };
}
