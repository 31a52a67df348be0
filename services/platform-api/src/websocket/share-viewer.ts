import type { OpenedLink } from '../domains/share-links/open-link.ts';
import { isNullIsland, withoutNullIsland } from '../domains/share-links/rules.ts';
import type { AccountFeeds, FeedViewer } from './account-feeds.ts';
import { sendError } from './client-inbox.ts';
import type { ClientMessage } from './client-messages.ts';
import type { Connection } from './connection.ts';
import { encodeMessage, type OutgoingEvent, publicData } from './outgoing-event.ts';
import { snapshotMessages } from './snapshots.ts';
import { heartbeatSeconds } from './user-viewer.ts';

/** Represents one connection of a share page: the vehicle of its link, with the fields that a link shows. */
export class ShareViewer implements FeedViewer {
  readonly opened: OpenedLink;
  readonly connection: Connection;
  readonly #feeds: AccountFeeds;

  constructor(feeds: AccountFeeds, connection: Connection, opened: OpenedLink) {
    this.#feeds = feeds;
    this.connection = connection;
    this.opened = opened;
  }

  async open(): Promise<void> {
    const resume = this.connection.pause();
    try {
      this.#feeds.join(this.opened.link.accountId, this);
      this.#send('hello', {
        connection_id: this.connection.id,
        user: null,
        server_time: new Date().toISOString(),
        heartbeat_seconds: heartbeatSeconds,
        subscriptions: [],
      });
      const location = withoutNullIsland(this.opened.liveState.location);
      const locations = location !== null && this.#showsLocation ? [publicData('location', { ...location })] : [];
      for (const message of snapshotMessages(locations)) this.connection.send('snapshot', message);
      await this.#feeds.flushSubscriptions();
    } finally {
      resume();
    }
  }

  close(): void {
    this.#feeds.leave(this.opened.link.accountId, this);
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
    if (type === 'location' && this.#showsLocation && !isNullIsland(event.data, event.data['gps_valid']))
      this.connection.deliver({ type, message: event.messageFor('public'), positionVehicleId: vehicleId });
    if (type === 'status') this.connection.deliver({ type, message: event.messageFor('public') });
  }

  get #showsLocation(): boolean {
    return this.opened.link.permissions.includes('location');
  }

  #send(type: string, data: unknown): void {
    this.connection.send(type, encodeMessage(type, data));
  }
}
