import { AppError } from '@fleet/service-kit';
import type { WebSocket } from 'ws';
import type { Principals } from '../access/principals.ts';
import { readWebsocketToken } from '../domains/last-positions/websocket-tokens.ts';
import { ArrivalEstimator } from '../domains/share-links/arrival.ts';
import { filterLive, openLinkSocket } from '../domains/share-links/open-link.ts';
import { slugPattern } from '../domains/share-links/rules.ts';
import type { Deps } from '../platform/deps.ts';
import { AccountFeeds } from './account-feeds.ts';
import { ClientInbox } from './client-inbox.ts';
import type { ClientMessage } from './client-messages.ts';
import { closeCodes, reconnectReason } from './close-codes.ts';
import type { Connection } from './connection.ts';
import { ConnectionRegistry, type RegisteredConnection, refreshIntervalMs } from './connection-registry.ts';
import { DeviceFeed } from './device-feed.ts';
import { throttleTickMs } from './location-throttle.ts';
import { ShareViewer } from './share-viewer.ts';
import { Snapshots } from './snapshots.ts';
import type { Stats } from './stats.ts';
import type { ConnectionRequest } from './upgrade.ts';
import { heartbeatSeconds, UserViewer, type ViewerDeps } from './user-viewer.ts';
import { VisibilityCache } from './visibility-cache.ts';

const maxTokenLength = 200;
/** Concurrent share pages of one link in each process. */
const maxPagesPerLink = 100;
/** Interval at which open share links are checked: an ended one is closed within five seconds. */
const linkCheckIntervalMs = 2_000;
const linkBatchSize = 500;

/** Dependencies of connections beside those of all domains. */
export interface HubDeps {
  readonly principals: Principals;
  readonly stats: Stats;
  /** Length of a second of the heartbeat; shorter in tests. */
  readonly secondMs?: number;
}

/** An open connection with its viewer. */
interface Viewer {
  open(): Promise<void>;
  handle(message: ClientMessage): Promise<void>;
  close(): void;
}

/** Manages all connections of this process: opens, checks and closes them. */
export class Hub {
  readonly #deps: Deps;
  readonly #stats: Stats;
  readonly #visibilities: VisibilityCache;
  readonly #feeds: AccountFeeds;
  readonly #devices: DeviceFeed;
  readonly #viewerDeps: ViewerDeps;
  readonly #registry: ConnectionRegistry;
  readonly #connections = new Set<Connection>();
  readonly #users = new Map<UserViewer, RegisteredConnection>();
  readonly #pages = new Set<ShareViewer>();
  readonly #timers: readonly NodeJS.Timeout[];
  #second = 0;

  constructor(deps: Deps, { principals, stats, secondMs = 1_000 }: HubDeps) {
    const { bus, log, records, redis } = deps;
    this.#deps = deps;
    this.#stats = stats;
    this.#visibilities = new VisibilityCache({ bus, log, records, redis, principals });
    this.#feeds = new AccountFeeds(deps, () => this.#visibilities.refreshAll());
    this.#devices = new DeviceFeed(deps, () => this.#users.keys());
    this.#viewerDeps = { ...deps, feeds: this.#feeds, snapshots: new Snapshots(deps) };
    this.#registry = new ConnectionRegistry(deps);
    this.#timers = [
      setInterval(() => this.#onSecond(), secondMs),
      setInterval(() => this.#flush(), throttleTickMs),
      setInterval(() => void this.#checkLinks(), linkCheckIntervalMs),
    ];
  }

  /** Handles a new connection. */
  accept(ws: WebSocket, connection: Connection, requested: ConnectionRequest): void {
    this.#connections.add(connection);
    let viewer: Viewer | undefined;
    const handle = async (message: ClientMessage): Promise<void> => viewer?.handle(message);
    const onError = (error: unknown): void =>
      this.#deps.log.error({ err: error, connectionId: connection.id }, 'websocket message failed');
    const inbox = new ClientInbox(ws, connection, { stats: this.#stats, handle, onError });
    ws.once('close', () => {
      this.#connections.delete(connection);
      viewer?.close();
    });
    const admit = async (): Promise<void> => {
      viewer = await (requested.share === undefined
        ? this.#admitUser(connection, requested)
        : this.#admitPage(connection, requested));
      if (viewer === undefined) return;
      // It may have closed during the lookup of its token.
      if (!connection.isOpen) return viewer.close();
      await viewer.open();
      inbox.start();
    };
    admit().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, connectionId: connection.id }, 'could not open a websocket connection');
      connection.close(closeCodes.restart, reconnectReason('unavailable'));
    });
  }

  closeAll(code: number, reason: () => string): void {
    for (const connection of this.#connections) connection.close(code, reason());
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#registry.stop();
    this.#visibilities.stop();
    this.#feeds.stop();
    this.#devices.stop();
  }

  async #admitUser(
    connection: Connection,
    { token, ip, hasSnapshots }: ConnectionRequest,
  ): Promise<Viewer | undefined> {
    const isToken = token !== undefined && token.length <= maxTokenLength;
    const holder = isToken ? await readWebsocketToken(this.#deps.redis, token) : null;
    const visibility = holder === null ? 'token' : await this.#visibilities.open(holder);
    if (visibility === 'token') {
      connection.close(closeCodes.token, 'the token is missing, has expired or is not valid');
      return undefined;
    }
    if (visibility === 'suspended') {
      connection.close(closeCodes.accessLost, 'the account is suspended');
      return undefined;
    }
    if (!visibility.isOpenFrom(ip)) {
      // Another connection with this token may be about to use the view, from an allowed address; unused, it is dropped
      // soon.
      connection.close(closeCodes.token, 'the token is not valid from this address');
      return undefined;
    }
    const { id, openedMs } = connection;
    const { userId } = visibility.caller;
    const viewer = new UserViewer(this.#viewerDeps, connection, visibility, { address: ip, hasSnapshots });
    const registered: RegisteredConnection = {
      id,
      userId,
      openedMs,
      displace: () => connection.close(closeCodes.limits, 'replaced by a newer connection of the user'),
    };
    this.#users.set(viewer, registered);
    this.#stats.open.user += 1;
    await this.#registry.add(registered);
    return {
      open: () => viewer.open(),
      handle: (message) => viewer.handle(message),
      close: () => {
        if (!this.#users.delete(viewer)) return;
        this.#stats.open.user -= 1;
        viewer.close();
        this.#registry.remove(registered);
        this.#visibilities.release(visibility);
      },
    };
  }

  async #admitPage(
    connection: Connection,
    { share = '', ticket, password, ip }: ConnectionRequest,
  ): Promise<Viewer | undefined> {
    let page: ShareViewer;
    try {
      if (!new RegExp(slugPattern).test(share)) throw new AppError('not_found', 'There is no such share link.');
      await this.#deps.limits.consume('shareLink', `ip:${ip}`);
      const opened = await openLinkSocket(this.#deps, share, { ticket, password, ip });
      const arrivals = new ArrivalEstimator(this.#deps, opened.link);
      page = new ShareViewer({ feeds: this.#feeds, arrivals, log: this.#deps.log }, connection, opened);
    } catch (error) {
      const code = error instanceof AppError ? closeCodeByStatus[error.status] : undefined;
      if (code === undefined || !(error instanceof AppError)) throw error;
      connection.close(code, error.message);
      return undefined;
    }
    const { _id: linkId } = page.opened.link;
    if ([...this.#pages].filter(({ opened }) => opened.link._id === linkId).length >= maxPagesPerLink) {
      connection.close(closeCodes.limits, 'too many pages of this link are open');
      return undefined;
    }
    this.#pages.add(page);
    this.#stats.open.share += 1;
    return {
      open: () => page.open(),
      handle: (message) => page.handle(message),
      close: () => {
        if (!this.#pages.delete(page)) return;
        this.#stats.open.share -= 1;
        page.close();
      },
    };
  }

  #flush(): void {
    const nowMs = performance.now();
    for (const viewer of this.#users.keys()) viewer.flush(nowMs);
  }

  /** Pings and registry heartbeats are spread over their interval. */
  #onSecond(): void {
    this.#second = (this.#second + 1) % heartbeatSeconds;
    const slotOf = (id: string): number => Number.parseInt(id.slice(0, 6), 16) % heartbeatSeconds;
    for (const connection of this.#connections) if (slotOf(connection.id) === this.#second) connection.ping();
    for (const registered of this.#users.values())
      if (slotOf(registered.id) === this.#second % (refreshIntervalMs / 1_000)) void this.#registry.refresh(registered);
  }

  async #checkLinks(): Promise<void> {
    const nowMs = Date.now();
    const closeEnded = ({ connection }: ShareViewer): void =>
      connection.close(closeCodes.shareEnded, 'the share link has ended');
    // That is known without the records, which may be unavailable.
    for (const page of this.#pages) if (page.opened.link.expiresAt.getTime() <= nowMs) closeEnded(page);
    const pages = [...this.#pages];
    const ids = [...new Set(pages.map(({ opened }) => opened.link._id))];
    try {
      for (let at = 0; at < ids.length; at += linkBatchSize) {
        const batch = ids.slice(at, at + linkBatchSize);
        const liveIds = await filterLive(this.#deps, batch);
        for (const page of pages)
          if (batch.includes(page.opened.link._id) && !liveIds.has(page.opened.link._id)) closeEnded(page);
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'could not check share links');
    }
  }
}

/** Maps errors of a share link to close codes, by HTTP status. */
const closeCodeByStatus: Readonly<Record<number, number>> = {
  401: closeCodes.token,
  404: closeCodes.shareEnded,
  410: closeCodes.shareEnded,
  429: closeCodes.limits,
};
