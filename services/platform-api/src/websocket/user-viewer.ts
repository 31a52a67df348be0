import type { LiveEventType } from '@fleet/bus';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import { mayViewVideo } from '../domains/media/access.ts';
import { urlsFor } from '../domains/media/urls.ts';
import { missedNotifications } from '../domains/notifications/missed.ts';
import type { UrlOf } from '../domains/notifications/responses.ts';
import type { Notification } from '../domains/notifications/schema.ts';
import type { SharePermission } from '../domains/vehicle-shares/schema.ts';
import { vehiclesById } from '../domains/vehicles/use-cases.ts';
import { visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import { sendError } from './client-inbox.ts';
import type { ClientMessage, Selection } from './client-messages.ts';
import { closeCodes, comeBackReason } from './close-codes.ts';
import type { Connection, LatestReadings } from './connection.ts';
import type { Feeds, FeedViewer } from './feeds.ts';
import { encodeMessage, eventOfRecord, type OutgoingEvent } from './live-event.ts';
import { locationIntervalMs, Pace } from './pace.ts';
import type { Snapshots } from './snapshots.ts';
import { Subscriptions } from './subscriptions.ts';
import type { EventAccess, UserVisibility, ViewListener } from './visibility-cache.ts';

/** Seconds between pings of the server. */
export const heartbeatSeconds = 30;
/** Largest number of notifications of a resume. */
const maxResumed = 500;

/** Share permission that an event of the vehicle requires. */
const permissionOf: Readonly<Record<LiveEventType, SharePermission>> = {
  location: 'view',
  status: 'view',
  vehicle: 'view',
  notification: 'notifications',
  command: 'commands',
  upload: 'history_video',
  stream: 'live_video',
  media: 'history_video',
};

/** Scopes of the API key, any of which an event requires, as requests do. */
const scopesOf: Readonly<Partial<Record<LiveEventType, readonly KeyScope[]>>> = {
  media: ['video'],
  stream: ['command', 'video'],
  upload: ['command', 'video'],
};

/** Dependencies of a user's connection. */
export interface ViewerParts {
  readonly deps: Pick<Deps, 'config' | 'records' | 'redis' | 'log'>;
  readonly feeds: Feeds;
  readonly snapshots: Snapshots;
}

/** One connection of a user: its subscriptions within the user's visibility. */
export class UserViewer implements FeedViewer, ViewListener {
  readonly #parts: ViewerParts;
  readonly #connection: Connection;
  readonly #view: UserVisibility;
  readonly #address: string;
  readonly #subscriptions = new Subscriptions();
  readonly #accounts = new Set<number>();
  /** Set if the client requested positions less often than once a second. */
  #pace: Pace | undefined;

  /** `address`: the address of the client. */
  constructor(parts: ViewerParts, connection: Connection, view: UserVisibility, address: string) {
    this.#parts = parts;
    this.#connection = connection;
    this.#view = view;
    this.#address = address;
    view.listeners.add(this);
  }

  /** Sends the greeting and the snapshot; events wait for that. */
  async open(): Promise<void> {
    const release = this.#connection.hold();
    try {
      this.#join();
      this.#send('hello', {
        connection_id: this.#connection.id,
        user: this.#view.caller.userId,
        server_time: new Date().toISOString(),
        heartbeat_seconds: heartbeatSeconds,
        subscriptions: this.#subscriptions.shown(),
      });
      await this.#parts.feeds.settled();
      await this.#sendSnapshot('all');
    } finally {
      release();
    }
  }

  close(): void {
    this.#view.listeners.delete(this);
    for (const accountId of this.#accounts) this.#parts.feeds.leave(accountId, this);
    this.#accounts.clear();
  }

  async handle(message: ClientMessage): Promise<void> {
    if (message.type === 'ping') this.#send('pong', { id: message.id });
    else if (message.type === 'resume') await this.#resume(message.since, message);
    else await this.#change(message);
  }

  /** Called for each event of an account of which the user may see something. */
  offer(event: OutgoingEvent): void {
    const access = this.#view.accessTo(event.accountId, event.vehicleId);
    if (access === null || !access.permissions.includes(permissionOf[event.type])) return;
    if (event.type === 'media' && !mayViewVideo(this.#view.caller)) return;
    const scopes = scopesOf[event.type];
    if (scopes !== undefined && !this.#view.hasScope(scopes)) return;
    const intervalMs = this.#subscriptions.intervalOf(event.type, event.vehicleId);
    if (intervalMs === undefined || !this.#isMeant(event, access.audience)) return;
    if (event.type === 'location' && intervalMs > locationIntervalMs) {
      this.#pace ??= new Pace();
      if (!this.#pace.admit(event, intervalMs, performance.now())) return;
    }
    this.#deliver(event, access);
  }

  /** Sends positions that have waited for the interval of the client. */
  flush(nowMs: number): void {
    for (const event of this.#pace?.due(nowMs) ?? []) {
      const access = this.#view.accessTo(event.accountId, event.vehicleId);
      const isWanted = this.#subscriptions.intervalOf(event.type, event.vehicleId) !== undefined;
      if (access !== null && isWanted) this.#deliver(event, access);
    }
  }

  viewChanged(change: { readonly shared: readonly number[]; readonly unshared: readonly number[] }): void {
    if (!this.#view.isOpenFrom(this.#address)) return this.viewEnded('refused');
    this.#join();
    for (const action of ['shared', 'unshared'] as const)
      for (const vehicleId of change[action])
        if (this.#subscriptions.intervalOf('vehicle', vehicleId) !== undefined)
          this.#connection.deliver({
            type: 'vehicle',
            message: encodeMessage('vehicle', { vehicle_id: vehicleId, action }),
          });
  }

  viewEnded(why: 'refused' | 'unknown'): void {
    if (why === 'refused') this.#connection.close(closeCodes.accessLost, 'access lost');
    else this.#connection.close(closeCodes.restart, comeBackReason('unavailable'));
  }

  #isMeant(event: OutgoingEvent, audience: EventAccess['audience']): boolean {
    const { type, vehicleId, data } = event;
    if (type === 'notification') return this.#view.wants(vehicleId, String(data['notification_type']));
    // Users of a share do not see with whom else the vehicle is shared; their visibility reports their own share.
    return audience !== 'shared' || !event.isOfSharing;
  }

  #deliver(event: OutgoingEvent, access: EventAccess): void {
    const { type, vehicleId, data } = event;
    const message = event.messageFor(access.audience, this.#urlsFor(access));
    if (type === 'location') this.#connection.deliver({ type, message, placeOf: vehicleId });
    else if (type === 'notification') this.#connection.deliver({ type, message, told: toldOf(data) });
    else this.#connection.deliver({ type, message });
  }

  /** Picture URLs for a user with access to the vehicle's pictures, and a key that permits it. */
  #urlsFor({ permissions }: EventAccess): UrlOf {
    const { caller } = this.#view;
    const isAllowed = permissions.includes('history_video') && mayViewVideo(caller) && this.#view.hasScope(['video']);
    return isAllowed ? urlsFor(this.#parts.deps, caller.userId) : null;
  }

  async #change({ type, id, selection }: Extract<ClientMessage, { selection: Selection }>): Promise<void> {
    const vehicles = await this.#visible(selection.vehicles);
    const change = { ...selection, vehicles };
    const isDone = type === 'subscribe' ? this.#subscriptions.add(change) : this.#subscriptions.remove(change);
    if (!isDone) {
      const message = 'The subscriptions name too many single vehicles.';
      sendError(this.#connection, { code: 'limit_reached', message, id });
      return;
    }
    // Buffered from here: later events follow the snapshot.
    const release = this.#connection.hold();
    try {
      this.#send('subscribed', { subscriptions: this.#subscriptions.shown(), id });
      if (type === 'subscribe') await this.#sendSnapshot(selection.events.includes('location') ? vehicles : []);
    } finally {
      release();
    }
  }

  /** Ids that are not visible are omitted, as in all lists. */
  async #visible(vehicles: Selection['vehicles']): Promise<Selection['vehicles']> {
    if (vehicles === 'all' || vehicles.length === 0) return vehicles;
    return visibleVehicleIds(this.#parts.deps, this.#view.caller, vehicles);
  }

  async #sendSnapshot(vehicles: Selection['vehicles']): Promise<void> {
    for (const message of await this.#parts.snapshots.messagesFor(this.#view, vehicles)) {
      if (!(await this.#connection.room())) return;
      this.#connection.send('snapshot', message);
    }
  }

  /** Sends missed notifications; concurrent ones follow, and none is sent twice. */
  async #resume(since: number, { id }: ClientMessage): Promise<void> {
    const { caller, ownIds, shares } = this.#view;
    const told = shares.filter(({ permissions }) => permissions.includes('notifications'));
    const release = this.#connection.hold();
    try {
      const visible = {
        accountId: caller.accountId,
        ownVehicleIds: ownIds === null ? null : [...ownIds],
        sharedVehicleIds: told.map(({ vehicleId }) => vehicleId),
      };
      const missed = await missedNotifications(this.#parts.deps, visible, since, {
        limit: maxResumed,
        isWanted: (notification) => this.#isWanted(notification),
      });
      const owners = await this.#owners(missed.notifications);
      if (!missed.isComplete) {
        const message = `Only the newest ${maxResumed} are sent. GET /api/notifications has the others.`;
        sendError(this.#connection, { code: 'resume_incomplete', message, id });
      }
      for (const notification of missed.notifications) {
        const event = eventOfRecord(notification, owners.get(notification.vehicleId) ?? null);
        const access = this.#view.accessTo(event.accountId, event.vehicleId);
        if (access === null || !(await this.#connection.room())) continue;
        const { type, data } = event;
        this.#connection.catchUp({
          type,
          message: event.messageFor(access.audience, this.#urlsFor(access)),
          told: toldOf(data),
        });
      }
    } finally {
      release();
    }
  }

  #isWanted({ accountId, vehicleId, type }: Notification): boolean {
    const access = this.#view.accessTo(accountId, vehicleId);
    return (
      access?.permissions.includes('notifications') === true &&
      this.#subscriptions.intervalOf('notification', vehicleId) !== undefined &&
      this.#view.wants(vehicleId, type)
    );
  }

  /** Returns the owning users of vehicles. */
  async #owners(notifications: readonly Notification[]): Promise<Map<number, number>> {
    const owners = new Map<number, number>();
    const byAccount = new Map<number, Set<number>>();
    for (const { accountId, vehicleId } of notifications)
      byAccount.set(accountId, (byAccount.get(accountId) ?? new Set()).add(vehicleId));
    for (const [accountId, ids] of byAccount)
      for (const [id, { ownerUserId }] of await vehiclesById(this.#parts.deps.records, { accountId }, [...ids]))
        owners.set(id, ownerUserId);
    return owners;
  }

  /** Subscribes to all accounts of which the user may see something, and to no other. */
  #join(): void {
    const wanted = new Set([this.#view.caller.accountId, ...this.#view.shares.map(({ accountId }) => accountId)]);
    for (const accountId of this.#accounts)
      if (!wanted.has(accountId)) {
        this.#parts.feeds.leave(accountId, this);
        this.#accounts.delete(accountId);
      }
    for (const accountId of wanted)
      if (!this.#accounts.has(accountId)) {
        this.#parts.feeds.join(accountId, this);
        this.#accounts.add(accountId);
      }
  }

  #send(type: string, data: unknown): void {
    this.#connection.send(type, encodeMessage(type, data));
  }
}

/** A changed record has another version and is sent again. */
function toldOf({ id, version }: Readonly<Record<string, unknown>>): LatestReadings {
  return { id: Number(id), version: typeof version === 'number' ? version : 1 };
}
