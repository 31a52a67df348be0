import { AppError } from '@fleet/service-kit';
import type { WebSocket } from 'ws';
import type { Principals } from '../access/principals.ts';
import { readWebsocketToken } from '../domains/realtime/websocket-tokens.ts';
import { openLinkSocket, stillLive } from '../domains/share-links/opening.ts';
import { slugPattern } from '../domains/share-links/rules.ts';
import type { Deps } from '../platform/deps.ts';
import { ClientInbox } from './client-inbox.ts';
import type { ClientMessage } from './client-messages.ts';
import { closeCodes, comeBackReason } from './close-codes.ts';
import type { Connection } from './connection.ts';
import { Feeds } from './feeds.ts';
import { paceTickMs } from './pace.ts';
import { ConnectionRegistry, type Counted, refreshMs } from './registry.ts';
import { ShareViewer } from './share-viewer.ts';
import { Snapshots } from './snapshots.ts';
import type { Stats } from './stats.ts';
import type { Asked } from './upgrade.ts';
import { heartbeatSeconds, UserViewer } from './user-viewer.ts';
import { Views } from './views.ts';

const maxTokenLength = 200;
/** Share pages of one link that look at once, in each process. */
const maxPagesOfLink = 100;
/** Links that are looked at are looked up again so often: what has ended is closed within five seconds, by a machine that is busy, too. */
const linkCheckMs = 2_000;
const linksAtOnce = 500;

/** What connections need beside what all domains have. */
export interface HubParts {
  readonly principals: Principals;
  readonly stats: Stats;
  /** What a second takes where the heart beats; tests do not wait for real ones. */
  readonly secondMs?: number;
}

/** A connection that is open: whoever looks through it. */
interface Viewer {
  open(): Promise<void>;
  handle(message: ClientMessage): Promise<void>;
  close(): void;
}

/** All connections of this process: lets them in, looks after them, and lets them go. */
export class Hub {
  readonly #deps: Deps;
  readonly #stats: Stats;
  readonly #views: Views;
  readonly #feeds: Feeds;
  readonly #snapshots: Snapshots;
  readonly #registry: ConnectionRegistry;
  readonly #connections = new Set<Connection>();
  readonly #users = new Map<UserViewer, Counted>();
  readonly #pages = new Set<ShareViewer>();
  readonly #timers: readonly NodeJS.Timeout[];
  #second = 0;

  constructor(deps: Deps, { principals, stats, secondMs = 1_000 }: HubParts) {
    const { bus, log, records, redis } = deps;
    this.#deps = deps;
    this.#stats = stats;
    this.#views = new Views({ bus, log, records, redis, principals });
    this.#feeds = new Feeds(deps, () => this.#views.current());
    this.#snapshots = new Snapshots(deps);
    this.#registry = new ConnectionRegistry(deps);
    this.#timers = [
      setInterval(() => this.#eachSecond(), secondMs),
      setInterval(() => this.#flush(), paceTickMs),
      setInterval(() => void this.#checkPages(), linkCheckMs),
    ];
  }

  /** Takes a connection that has just been opened. */
  welcome(ws: WebSocket, connection: Connection, asked: Asked): void {
    this.#connections.add(connection);
    let viewer: Viewer | undefined;
    const handle = async (message: ClientMessage): Promise<void> => viewer?.handle(message);
    const onError = (error: unknown): void =>
      this.#deps.log.error({ err: error, connectionId: connection.id }, 'a websocket message failed');
    const inbox = new ClientInbox(ws, connection, { stats: this.#stats, handle, onError });
    ws.once('close', () => {
      this.#connections.delete(connection);
      viewer?.close();
    });
    const admit = async (): Promise<void> => {
      viewer = await (asked.share === undefined
        ? this.#admitUser(connection, asked)
        : this.#admitPage(connection, asked));
      if (viewer === undefined) return;
      // It may have gone while its token was looked up.
      if (!connection.isOpen) return viewer.close();
      await viewer.open();
      inbox.start();
    };
    admit().catch((error: unknown) => {
      this.#deps.log.warn({ err: error, connectionId: connection.id }, 'a websocket connection could not be opened');
      connection.close(closeCodes.restart, comeBackReason('unavailable'));
    });
  }

  closeAll(code: number, reason: () => string): void {
    for (const connection of this.#connections) connection.close(code, reason());
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#registry.stop();
    this.#views.stop();
    this.#feeds.stop();
  }

  async #admitUser(connection: Connection, { token, ip }: Asked): Promise<Viewer | undefined> {
    const isToken = token !== undefined && token.length <= maxTokenLength;
    const holder = isToken ? await readWebsocketToken(this.#deps.redis, token) : null;
    const view = holder === null ? 'token' : await this.#views.open(holder);
    if (view === 'token') {
      connection.close(closeCodes.token, 'the token is missing, has expired or is not valid');
      return undefined;
    }
    if (view === 'suspended') {
      connection.close(closeCodes.accessLost, 'the account is suspended');
      return undefined;
    }
    if (!view.isOpenFrom(ip)) {
      // The view may be about to be listened to by another connection with this token, from an address that is let in; unheard, it is forgotten soon.
      connection.close(closeCodes.token, 'the token is not valid from this address');
      return undefined;
    }
    const { id, openedMs } = connection;
    const { userId } = view.caller;
    const viewer = new UserViewer({ ...this.#parts, deps: this.#deps }, connection, view, ip);
    const counted: Counted = {
      id,
      userId,
      openedMs,
      displace: () => connection.close(closeCodes.limits, 'a newer connection of the user has taken its place'),
    };
    this.#users.set(viewer, counted);
    this.#stats.open.user += 1;
    await this.#registry.add(counted);
    return {
      open: () => viewer.open(),
      handle: (message) => viewer.handle(message),
      close: () => {
        if (!this.#users.delete(viewer)) return;
        this.#stats.open.user -= 1;
        viewer.close();
        this.#registry.remove(counted);
        this.#views.release(view);
      },
    };
  }

  async #admitPage(connection: Connection, { share = '', ticket, password, ip }: Asked): Promise<Viewer | undefined> {
    let page: ShareViewer;
    try {
      if (!new RegExp(slugPattern).test(share)) throw new AppError('not_found', 'There is no such share link.');
      await this.#deps.limits.consume('shareLink', `ip:${ip}`);
      page = new ShareViewer(
        this.#feeds,
        connection,
        await openLinkSocket(this.#deps, share, { ticket, password, ip }),
      );
    } catch (error) {
      const code = error instanceof AppError ? refusalCodes[error.status] : undefined;
      if (code === undefined || !(error instanceof AppError)) throw error;
      connection.close(code, error.message);
      return undefined;
    }
    const { _id: linkId } = page.opened.link;
    if ([...this.#pages].filter(({ opened }) => opened.link._id === linkId).length >= maxPagesOfLink) {
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

  get #parts() {
    return { feeds: this.#feeds, snapshots: this.#snapshots };
  }

  #flush(): void {
    const nowMs = performance.now();
    for (const viewer of this.#users.keys()) viewer.flush(nowMs);
  }

  /** Pings, and signs of life to the registry, are spread over their interval. */
  #eachSecond(): void {
    this.#second = (this.#second + 1) % heartbeatSeconds;
    const slotOf = (id: string): number => Number.parseInt(id.slice(0, 6), 16) % heartbeatSeconds;
    for (const connection of this.#connections) if (slotOf(connection.id) === this.#second) connection.ping();
    for (const counted of this.#users.values())
      if (slotOf(counted.id) === this.#second % (refreshMs / 1_000)) void this.#registry.refresh(counted);
  }

  async #checkPages(): Promise<void> {
    const nowMs = Date.now();
    const end = ({ connection }: ShareViewer): void =>
      connection.close(closeCodes.shareEnded, 'the share link has ended');
    // That is known without the records, which may be away.
    for (const page of this.#pages) if (page.opened.link.expiresAt.getTime() <= nowMs) end(page);
    const pages = [...this.#pages];
    const ids = [...new Set(pages.map(({ opened }) => opened.link._id))];
    try {
      for (let at = 0; at < ids.length; at += linksAtOnce) {
        const part = ids.slice(at, at + linksAtOnce);
        const live = await stillLive(this.#deps, part);
        for (const page of pages) if (part.includes(page.opened.link._id) && !live.has(page.opened.link._id)) end(page);
      }
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'share links could not be looked up again');
    }
  }
}

/** What a share link refuses, by the status that HTTP would have. */
const refusalCodes: Readonly<Record<number, number>> = {
  401: closeCodes.token,
  404: closeCodes.shareEnded,
  410: closeCodes.shareEnded,
  429: closeCodes.limits,
};
