import { setTimeout as delay } from 'node:timers/promises';
import { type LiveEvents, liveEvents, liveSubject, subscribe } from '@fleet/bus';
import { notificationsSince } from '../domains/notifications/missed.ts';
import { positionsOfAccount } from '../domains/vehicles/newest-positions.ts';
import { vehiclesById } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { eventOfRecord, OutgoingEvent } from './live-event.ts';
import { locationIntervalMs, Pace, paceTickMs } from './pace.ts';
import { ToldInOrder } from './told-in-order.ts';

type Parts = Pick<Deps, 'bus' | 'log' | 'records' | 'redis'>;

/** Who is told of an account's events; whether an event concerns it, it sees itself. */
export interface FeedViewer {
  offer(event: OutgoingEvent): void;
}

/** The live events of one account, as long as somebody here looks. */
class Feed {
  readonly viewers = new Set<FeedViewer>();
  readonly #parts: Parts;
  readonly #pace = new Pace();
  readonly #order = new ToldInOrder();
  readonly #accountId: number;
  readonly #heard: { stop(): void };

  constructor(accountId: number, parts: Parts) {
    this.#accountId = accountId;
    this.#parts = parts;
    const { bus, log } = parts;
    const onError = (error: unknown): void => log.warn({ err: error }, 'a live event could not be read');
    this.#heard = subscribe(bus, liveEvents, onError, (body) => this.#take(body), liveSubject(accountId));
  }

  /** Sends positions that have waited for their second. */
  flush(nowMs: number): void {
    for (const event of this.#pace.due(nowMs)) this.#offer(event);
  }

  /** Tells from the records what could not be heard; what was heard after all is told once. */
  async catchUp(sinceMs: number): Promise<void> {
    const accountId = this.#accountId;
    for (const position of await positionsOfAccount(this.#parts, accountId))
      if (position.vehicle_id !== null && position.server_timestamp >= sinceMs)
        this.#take({
          accountId,
          events: [
            { type: 'location', vehicleId: position.vehicle_id, atMs: position.server_timestamp, data: position },
          ],
        });
    const missed = await notificationsSince(this.#parts, accountId, sinceMs);
    const ids = [...new Set(missed.map(({ vehicleId }) => vehicleId))];
    const vehicles = await vehiclesById(this.#parts.records, { accountId }, ids);
    for (const notification of missed)
      this.#offer(eventOfRecord(notification, vehicles.get(notification.vehicleId)?.ownerUserId ?? null));
  }

  stop(): void {
    this.#heard.stop();
  }

  #take({ accountId, events }: LiveEvents): void {
    const nowMs = performance.now();
    for (const live of events) {
      if (!this.#order.admit(live)) continue;
      const event = new OutgoingEvent(accountId, live);
      if (event.isOfSharing) void this.#offerOwn(event);
      else if (event.type !== 'location' || this.#pace.admit(event, locationIntervalMs, nowMs)) this.#offer(event);
    }
  }

  /** Both accounts are told of a share; that with which a vehicle is shared leaves it to the view of the one user whom it concerns. */
  async #offerOwn(event: OutgoingEvent): Promise<void> {
    const { accountId, vehicleId } = event;
    try {
      if ((await vehiclesById(this.#parts.records, { accountId }, [vehicleId])).has(vehicleId)) this.#offer(event);
    } catch (error) {
      this.#parts.log.warn({ err: error, vehicleId }, 'whose a shared vehicle is could not be read');
    }
  }

  #offer(event: OutgoingEvent): void {
    for (const viewer of this.viewers) viewer.offer(event);
  }
}

/** What was on its way when the broker went may have been lost, too. */
const outageMarginMs = 5_000;
/** A way to the broker that has fallen silent is noticed after half a minute: so often it is found out up to when everything was heard. */
const soundEveryMs = 5_000;
const retryMs = 1_000;
/** How long a new subscription may take to reach the broker: while that is away, viewers get what is on record. */
const settleLimitMs = 2_000;

/** The feeds of all accounts that somebody here looks at: one subscription each, however many look. */
export class Feeds {
  readonly #parts: Parts;
  readonly #viewsAreCurrent: () => Promise<void>;
  readonly #feeds = new Map<number, Feed>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #offReconnect: () => void;
  #heardUntilMs = Date.now();
  #reconnects = 0;
  #missedSinceMs: number | undefined;
  #isStopped = false;

  /** `viewsAreCurrent` resolves once viewers know of what was taken from them while nothing was heard. */
  constructor(parts: Parts, viewsAreCurrent: () => Promise<void>) {
    this.#parts = parts;
    this.#viewsAreCurrent = viewsAreCurrent;
    this.#offReconnect = parts.bus.onReconnect(() => this.#missed());
    this.#timers = [
      setInterval(() => this.#flush(), paceTickMs).unref(),
      setInterval(() => void this.#sound(), soundEveryMs).unref(),
    ];
  }

  get size(): number {
    return this.#feeds.size;
  }

  join(accountId: number, viewer: FeedViewer): void {
    const feed = this.#feeds.get(accountId) ?? new Feed(accountId, this.#parts);
    this.#feeds.set(accountId, feed);
    feed.viewers.add(viewer);
  }

  leave(accountId: number, viewer: FeedViewer): void {
    const feed = this.#feeds.get(accountId);
    feed?.viewers.delete(viewer);
    if (feed?.viewers.size !== 0) return;
    feed.stop();
    this.#feeds.delete(accountId);
  }

  /** Resolves once what has been joined is known to the broker, so that nothing which happens from then on is missed. */
  async settled(): Promise<void> {
    const { bus } = this.#parts;
    if (!bus.isUp()) return;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, settleLimitMs);
    });
    // A broker that goes meanwhile is as good as one that was away.
    await Promise.race([bus.nc.flush().catch(() => undefined), limit]);
    clearTimeout(timer);
  }

  stop(): void {
    this.#isStopped = true;
    this.#offReconnect();
    for (const timer of this.#timers) clearInterval(timer);
    for (const feed of this.#feeds.values()) feed.stop();
    this.#feeds.clear();
  }

  #flush(): void {
    const nowMs = performance.now();
    for (const feed of this.#feeds.values()) feed.flush(nowMs);
  }

  /** What the broker had sent before an answer of its own has come. */
  async #sound(): Promise<void> {
    const { bus } = this.#parts;
    if (!bus.isUp()) return;
    const [atMs, reconnects] = [Date.now(), this.#reconnects];
    const isAnswered = await bus.nc.flush().then(
      () => true,
      () => false,
    );
    if (isAnswered && reconnects === this.#reconnects) this.#heardUntilMs = atMs;
  }

  /** After an outage of the broker, or of the way to it: nothing that is on record is dropped silently. */
  #missed(): void {
    this.#reconnects += 1;
    const isWorking = this.#missedSinceMs !== undefined;
    this.#missedSinceMs = Math.min(this.#missedSinceMs ?? Number.MAX_SAFE_INTEGER, this.#heardUntilMs - outageMarginMs);
    if (!isWorking) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    for (let sinceMs = this.#missedSinceMs; sinceMs !== undefined && !this.#isStopped; sinceMs = this.#missedSinceMs)
      try {
        // What is recorded from here on is heard again.
        await this.settled();
        await this.#viewsAreCurrent();
        for (const feed of this.#feeds.values()) await feed.catchUp(sinceMs);
        // Another outage may have come in between.
        if (this.#missedSinceMs === sinceMs) this.#missedSinceMs = undefined;
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'what was missed while the broker was away could not be read yet');
        await delay(retryMs, undefined, { ref: false });
      }
  }
}
