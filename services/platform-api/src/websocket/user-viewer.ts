import type { Role } from '../access/roles.ts';
import { streamUrlSigner } from '../domains/dashcam/event-urls.ts';
import { mediaUrlBuilder } from '../domains/media/urls.ts';
import type { Notification } from '../domains/notifications/schema.ts';
import { visibleVehicleIds } from '../domains/vehicles/visibility.ts';
import type { Deps } from '../platform/deps.ts';
import type { AccountFeeds, FeedViewer } from './account-feeds.ts';
import { sendError } from './client-inbox.ts';
import type { ClientMessage, Selection } from './client-messages.ts';
import { closeCodes, reconnectReason } from './close-codes.ts';
import type { Connection, Delivery } from './connection.ts';
import { eventAccess, isRelevant, mayOpenFiles, mayWatch } from './event-access.ts';
import { LocationThrottle, locationIntervalMs } from './location-throttle.ts';
import { findMissedEvents, maxResumedNotifications } from './missed-events.ts';
import { encodeMessage, type OutgoingEvent, type ViewerUrls } from './outgoing-event.ts';
import type { Snapshots } from './snapshots.ts';
import { Subscriptions } from './subscriptions.ts';
import type { UserVisibility, VisibilityListener } from './user-visibility.ts';
import type { EventAccess, ShareChanges } from './visibility-snapshot.ts';

/** Seconds between pings of the server. */
export const heartbeatSeconds = 30;
/** A `device` event belongs to no vehicle; only subscriptions of all vehicles include it. */
const noVehicleId = 0;

/** Dependencies of a user's connection. */
export interface ViewerDeps extends Pick<Deps, 'config' | 'records' | 'redis' | 'log' | 'streamTokens'> {
  readonly feeds: AccountFeeds;
  readonly snapshots: Snapshots;
}

/** The client of a connection. */
interface ViewerClient {
  readonly address: string;
  /** False: the client reads the positions with a request. */
  readonly hasSnapshots: boolean;
}

/** Represents one connection of a user: its subscriptions within the user's visibility. */
export class UserViewer implements FeedViewer, VisibilityListener {
  readonly #deps: ViewerDeps;
  readonly #connection: Connection;
  readonly #visibility: UserVisibility;
  readonly #client: ViewerClient;
  readonly #subscriptions = new Subscriptions();
  readonly #accounts = new Set<number>();
  /** Set if the client requested positions less often than once a second. */
  #throttle: LocationThrottle | undefined;

  constructor(deps: ViewerDeps, connection: Connection, visibility: UserVisibility, client: ViewerClient) {
    this.#deps = deps;
    this.#connection = connection;
    this.#visibility = visibility;
    this.#client = client;
    visibility.listeners.add(this);
  }

  /** Sends the greeting and the snapshot; events wait for that. */
  async open(): Promise<void> {
    const resume = this.#connection.pause();
    try {
      this.#joinFeeds();
      this.#send('hello', {
        connection_id: this.#connection.id,
        user: this.#visibility.caller.userId,
        server_time: new Date().toISOString(),
        heartbeat_seconds: heartbeatSeconds,
        subscriptions: this.#subscriptions.toResponse(),
      });
      await this.#deps.feeds.flushSubscriptions();
      await this.#sendSnapshot('all');
    } finally {
      resume();
    }
  }

  close(): void {
    this.#visibility.listeners.delete(this);
    for (const accountId of this.#accounts) this.#deps.feeds.leave(accountId, this);
    this.#accounts.clear();
  }

  async handle(message: ClientMessage): Promise<void> {
    if (message.type === 'ping') this.#send('pong', { id: message.id });
    else if (message.type === 'resume') await this.#resume(message.since, message);
    else await this.#changeSubscriptions(message);
  }

  /** Called for each event of an account of which the user may see something. */
  offer(event: OutgoingEvent): void {
    const access = eventAccess(this.#visibility, event);
    if (access === null) return;
    const intervalMs = this.#subscriptions.findIntervalMs(event.type, event.vehicleId);
    if (intervalMs === undefined || !isRelevant(this.#visibility, event, access)) return;
    if (event.type === 'location' && intervalMs > locationIntervalMs) {
      this.#throttle ??= new LocationThrottle();
      if (!this.#throttle.admit(event, intervalMs, performance.now())) return;
    }
    this.#deliver(event, access);
  }

  get role(): Role {
    return this.#visibility.caller.role;
  }

  get wantsDevices(): boolean {
    return this.#subscriptions.findIntervalMs('device', noVehicleId) !== undefined;
  }

  /** Sends a `device` event. The caller checks `role` and `wantsDevices`. */
  offerDevice(message: Buffer): void {
    this.#connection.deliver({ type: 'device', message });
  }

  /** Sends positions that have waited for the interval of the client. */
  flush(nowMs: number): void {
    for (const event of this.#throttle?.takeDue(nowMs) ?? []) {
      const access = this.#visibility.accessTo(event.accountId, event.vehicleId);
      const isWanted = this.#subscriptions.findIntervalMs(event.type, event.vehicleId) !== undefined;
      if (access !== null && isWanted) this.#deliver(event, access);
    }
  }

  visibilityChanged(change: ShareChanges): void {
    if (!this.#visibility.isOpenFrom(this.#client.address)) return this.visibilityEnded('refused');
    this.#joinFeeds();
    for (const action of ['shared', 'unshared'] as const)
      for (const vehicleId of change[action])
        if (this.#subscriptions.findIntervalMs('vehicle', vehicleId) !== undefined)
          this.#connection.deliver({
            type: 'vehicle',
            message: encodeMessage('vehicle', { vehicle_id: vehicleId, action }),
          });
  }

  visibilityEnded(why: 'refused' | 'unknown'): void {
    if (why === 'refused') this.#connection.close(closeCodes.accessLost, 'access lost');
    else this.#connection.close(closeCodes.restart, reconnectReason('unavailable'));
  }

  #deliver(event: OutgoingEvent, access: EventAccess): void {
    this.#connection.deliver(this.#toDelivery(event, access));
  }

  #toDelivery(event: OutgoingEvent, access: EventAccess): Delivery {
    const { type, vehicleId, data } = event;
    const message = event.messageFor(access.audience, this.#urlsFor(event, access));
    if (type === 'location') return { type, message, positionVehicleId: vehicleId };
    if (type !== 'notification') return { type, message };
    // A changed record has another version and is sent again.
    const version = typeof data['version'] === 'number' ? data['version'] : 1;
    return { type, message, notification: { id: Number(data['id']), version } };
  }

  #urlsFor({ type }: OutgoingEvent, access: EventAccess): ViewerUrls {
    const { caller, holder } = this.#visibility;
    if (type === 'stream') {
      const mayTalk = access.permissions.includes('commands');
      const streamUrlsOf = mayWatch(this.#visibility, access) ? streamUrlSigner(this.#deps, holder, { mayTalk }) : null;
      return { fileUrlOf: null, streamUrlsOf };
    }
    const fileUrlOf = mayOpenFiles(this.#visibility, access) ? mediaUrlBuilder(this.#deps, caller.userId) : null;
    return { fileUrlOf, streamUrlsOf: null };
  }

  async #changeSubscriptions(message: Extract<ClientMessage, { selection: Selection }>): Promise<void> {
    const { type, id, selection, batchMs } = message;
    const vehicles = await this.#visibleVehicles(selection.vehicles);
    const change = { ...selection, vehicles };
    const isAccepted = type === 'subscribe' ? this.#subscriptions.add(change) : this.#subscriptions.remove(change);
    if (!isAccepted) {
      const fault = 'The subscriptions name too many single vehicles.';
      sendError(this.#connection, { code: 'limit_reached', message: fault, id });
      return;
    }
    if (batchMs !== undefined) this.#connection.batchIntervalMs = batchMs;
    // Buffered from here: later events follow the snapshot.
    const resume = this.#connection.pause();
    try {
      this.#send('subscribed', { subscriptions: this.#subscriptions.toResponse(), id });
      if (type === 'subscribe') await this.#sendSnapshot(selection.events.includes('location') ? vehicles : []);
    } finally {
      resume();
    }
  }

  // Ids that are not visible are omitted, as in all lists.
  async #visibleVehicles(vehicles: Selection['vehicles']): Promise<Selection['vehicles']> {
    if (vehicles === 'all' || vehicles.length === 0) return vehicles;
    return visibleVehicleIds(this.#deps, this.#visibility.caller, vehicles);
  }

  async #sendSnapshot(vehicles: Selection['vehicles']): Promise<void> {
    if (!this.#client.hasSnapshots) return;
    for (const message of await this.#deps.snapshots.messagesFor(this.#visibility, vehicles)) {
      if (!(await this.#connection.waitForDrain())) return;
      this.#connection.send('snapshot', message);
    }
  }

  /** Sends missed notifications; concurrent ones follow, and none is sent twice. */
  async #resume(since: number, { id }: ClientMessage): Promise<void> {
    const resume = this.#connection.pause();
    try {
      const isWanted = (notification: Notification): boolean => this.#isWanted(notification);
      const { events, isComplete } = await findMissedEvents(this.#deps, this.#visibility, since, isWanted);
      if (!isComplete) {
        const message = `Only the newest ${maxResumedNotifications} are sent. GET /api/notifications has the others.`;
        sendError(this.#connection, { code: 'resume_incomplete', message, id });
      }
      for (const event of events) {
        const access = this.#visibility.accessTo(event.accountId, event.vehicleId);
        if (access === null || !(await this.#connection.waitForDrain())) continue;
        this.#connection.deliverNow(this.#toDelivery(event, access));
      }
    } finally {
      resume();
    }
  }

  #isWanted({ accountId, vehicleId, type }: Notification): boolean {
    const access = this.#visibility.accessTo(accountId, vehicleId);
    return (
      access?.permissions.includes('notifications') === true &&
      this.#subscriptions.findIntervalMs('notification', vehicleId) !== undefined &&
      this.#visibility.wants(vehicleId, type)
    );
  }

  /** Subscribes to all accounts of which the user may see something, and to no other. */
  #joinFeeds(): void {
    const accountIds = new Set([
      this.#visibility.caller.accountId,
      ...this.#visibility.shares.map(({ accountId }) => accountId),
    ]);
    for (const accountId of this.#accounts)
      if (!accountIds.has(accountId)) {
        this.#deps.feeds.leave(accountId, this);
        this.#accounts.delete(accountId);
      }
    for (const accountId of accountIds)
      if (!this.#accounts.has(accountId)) {
        this.#deps.feeds.join(accountId, this);
        this.#accounts.add(accountId);
      }
  }

  #send(type: string, data: unknown): void {
    this.#connection.send(type, encodeMessage(type, data));
  }
}
