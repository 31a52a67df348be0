import { setTimeout as delay } from 'node:timers/promises';
import { type LiveEvents, liveEvents, liveSubject, subscribe } from '@fleet/bus';
import { notificationsSince } from '../domains/notifications/missed.ts';
import { positionsOfAccount } from '../domains/vehicles/newest-positions.ts';
import { vehiclesById } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { eventOfRecord, OutgoingEvent } from './live-event.ts';
import { locationIntervalMs, Pace, paceTickMs } from './pace.ts';
import { StaleEventFilter } from './stale-event-filter.ts';

type Parts = Pick<Deps, 'bus' | 'log' | 'records' | 'redis'>;

/** Receiver of an account's events; it decides itself which events concern it. */
export interface FeedViewer {
  offer(event: OutgoingEvent): void;
}

/** Live events of one account, while this process has viewers of it. */
class Feed {
  readonly viewers = new Set<FeedViewer>();
  readonly #parts: Parts;
  readonly #pace = new Pace();
  readonly #order = new StaleEventFilter();
  readonly #accountId: number;
  readonly #heard: { stop(): void };

  constructor(accountId: number, parts: Parts) {
    this.#accountId = accountId;
    this.#parts = parts;
    const { bus, log } = parts;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid live event');
    this.#heard = subscribe(bus, liveEvents, onError, (body) => this.#take(body), liveSubject(accountId));
  }

  /** Sends positions that have waited for their second. */
  flush(nowMs: number): void {
    for (const event of this.#pace.due(nowMs)) this.#offer(event);
  }

  /** Publishes missed events from the records; those that did arrive are dropped as repetitions. */
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

  /**
   * Both accounts get events of a share; the other account leaves the decision to the visibility of the user concerned.
   */
  async #offerOwn(event: OutgoingEvent): Promise<void> {
    const { accountId, vehicleId } = event;
    try {
      if ((await vehiclesById(this.#parts.records, { accountId }, [vehicleId])).has(vehicleId)) this.#offer(event);
    } catch (error) {
      this.#parts.log.warn({ err: error, vehicleId }, 'could not read owner of shared vehicle');
    }
  }

  #offer(event: OutgoingEvent): void {
    for (const viewer of this.viewers) viewer.offer(event);
  }
}

/** Events in transit at the outage may be lost, too. */
const outageMarginMs = 5_000;
/** A silent broker connection is detected after half a minute: this interval limits what may have been missed. */
const soundEveryMs = 5_000;
const retryMs = 1_000;

/** Feeds of all accounts with viewers in this process: one subscription each, for any number of viewers. */
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

  /** `viewsAreCurrent` resolves once viewers have lost access that ended during the outage. */
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

  /** Resolves once the broker knows the new subscriptions, so that no later event is missed. */
  settled(): Promise<void> {
    return this.#parts.bus.flush();
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

  /** Flushes the connection: everything sent before the broker's reply has arrived. */
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

  /** Runs after an outage of the broker or of the connection: no recorded event is dropped silently. */
  #missed(): void {
    this.#reconnects += 1;
    const isWorking = this.#missedSinceMs !== undefined;
    this.#missedSinceMs = Math.min(this.#missedSinceMs ?? Number.MAX_SAFE_INTEGER, this.#heardUntilMs - outageMarginMs);
    if (!isWorking) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    for (let sinceMs = this.#missedSinceMs; sinceMs !== undefined && !this.#isStopped; sinceMs = this.#missedSinceMs)
      try {
        // Events recorded from here on arrive normally.
        await this.settled();
        await this.#viewsAreCurrent();
        for (const feed of this.#feeds.values()) await feed.catchUp(sinceMs);
        // Another outage may have occurred in between.
        if (this.#missedSinceMs === sinceMs) this.#missedSinceMs = undefined;
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'could not read the events of a broker outage yet');
        await delay(retryMs, undefined, { ref: false });
      }
  }
}
