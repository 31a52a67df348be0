import type { Logger } from '@fleet/service-kit';
import type { ArrivalEstimator } from '../domains/share-links/arrival.ts';
import type { OpenedSocket } from '../domains/share-links/open-link.ts';
import { isNullIsland, withoutNullIsland } from '../domains/share-links/rules.ts';
import type { AccountFeeds, FeedViewer } from './account-feeds.ts';
import { sendError } from './client-inbox.ts';
import type { ClientMessage } from './client-messages.ts';
import type { Connection } from './connection.ts';
import { encodeMessage, type OutgoingEvent, publicData } from './outgoing-event.ts';
import { snapshotMessages } from './snapshots.ts';
import { heartbeatSeconds } from './user-viewer.ts';

interface ShareViewerDeps {
  readonly feeds: AccountFeeds;
  readonly arrivals: ArrivalEstimator;
  readonly log: Logger;
}

/** Represents one connection of a share page: the vehicle of its link, with the fields that a link shows. */
export class ShareViewer implements FeedViewer {
  readonly opened: OpenedSocket;
  readonly connection: Connection;
  readonly #deps: ShareViewerDeps;

  constructor(deps: ShareViewerDeps, connection: Connection, opened: OpenedSocket) {
    this.#deps = deps;
    this.connection = connection;
    this.opened = opened;
  }

  async open(): Promise<void> {
    const resume = this.connection.pause();
    try {
      this.#deps.feeds.join(this.opened.link.accountId, this);
      this.#send('hello', {
        connection_id: this.connection.id,
        user: null,
        server_time: new Date().toISOString(),
        heartbeat_seconds: heartbeatSeconds,
        subscriptions: [],
        ticket: this.opened.ticket,
      });
      const { state, stateSinceMs, location: found, device } = this.opened.liveState;
      const location = withoutNullIsland(found);
      const locations = location !== null && this.#showsLocation ? [publicData('location', { ...location })] : [];
      for (const message of snapshotMessages(locations)) this.connection.send('snapshot', message);
      const { connected, last_seen } = device ?? { connected: false, last_seen: null };
      // It may have changed while the page was not connected.
      this.#send('status', publicData('status', { connected, state, state_since: stateSinceMs, last_seen }));
      if (location !== null) await this.#sendArrival(location);
      await this.#deps.feeds.flushSubscriptions();
    } finally {
      resume();
    }
  }

  close(): void {
    this.#deps.feeds.leave(this.opened.link.accountId, this);
  }

  async handle({ type, id }: ClientMessage): Promise<void> {
    if (type === 'ping') this.#send('pong', { id });
    else
      sendError(this.connection, {
        code: 'not_allowed',
        message: 'A share page receives events of its vehicle only.',
        id,
      });
  }

  offer(event: OutgoingEvent): void {
    const { type, vehicleId } = event;
    if (vehicleId !== this.opened.link.vehicleId) return;
    if (type === 'location' && this.#showsLocation && !isNullIsland(event.data, event.data['gps_valid'])) {
      this.connection.deliver({ type, message: event.messageFor('public'), positionVehicleId: vehicleId });
      this.#offerArrival(event.data);
    }
    if (type === 'status') this.connection.deliver({ type, message: event.messageFor('public') });
    if (type === 'stream' && this.opened.link.permissions.includes('live_video'))
      this.connection.deliver({ type, message: encodeMessage(type, publicData(type, event.data), event.atMs) });
  }

  get #showsLocation(): boolean {
    return this.opened.link.permissions.includes('location');
  }

  #offerArrival({ latitude, longitude, speed }: OutgoingEvent['data']): void {
    const place = { latitude: Number(latitude), longitude: Number(longitude), speed: Number(speed) };
    this.#sendArrival(place).catch((error: unknown) =>
      this.#deps.log.warn({ err: error }, 'could not estimate an arrival'),
    );
  }

  async #sendArrival(place: Parameters<ArrivalEstimator['estimate']>[0]): Promise<void> {
    const arrival = await this.#deps.arrivals.estimate(place);
    if (arrival !== null) this.connection.send('arrival', encodeMessage('arrival', arrival));
  }

  #send(type: string, data: unknown): void {
    this.connection.send(type, encodeMessage(type, data));
  }
}
