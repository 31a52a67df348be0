import { setTimeout as delay } from 'node:timers/promises';
import { type LiveEvents, liveEvents, liveSubject, subscribe } from '@fleet/bus';
import { notificationsSince } from '../domains/notifications/replay.ts';
import { findAccountPositions } from '../domains/vehicles/account-positions.ts';
import { vehiclesById } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { LocationThrottle, locationIntervalMs, throttleTickMs } from './location-throttle.ts';
import { OutgoingEvent, toOutgoingEvent } from './outgoing-event.ts';
import { StaleEventFilter } from './stale-event-filter.ts';

type FeedDeps = Pick<Deps, 'bus' | 'config' | 'log' | 'records' | 'redis' | 'thresholds'>;

/** Receiver of an account's events; it decides itself which events concern it. */
export interface FeedViewer {
  offer(event: OutgoingEvent): void;
}

/** Live events of one account, while this process has viewers of it. */
class AccountFeed {
  readonly viewers = new Set<FeedViewer>();
  readonly #deps: FeedDeps;
  readonly #throttle = new LocationThrottle();
  readonly #staleEvents = new StaleEventFilter();
  readonly #accountId: number;
  readonly #subscription: { stop(): void };

  constructor(accountId: number, deps: FeedDeps) {
    this.#accountId = accountId;
    this.#deps = deps;
    const { bus, log } = deps;
    const onError = (error: unknown): void => log.warn({ err: error }, 'invalid live event');
    this.#subscription = subscribe(bus, liveEvents, onError, (body) => this.#receive(body), liveSubject(accountId));
  }

  /** Sends positions that have waited for their second. */
  flush(nowMs: number): void {
    for (const event of this.#throttle.takeDue(nowMs)) this.#offerToViewers(event);
  }

  /** Publishes missed events from the records; those that did arrive are dropped as repetitions. */
  async catchUp(sinceMs: number): Promise<void> {
    const accountId = this.#accountId;
    for (const position of await findAccountPositions(this.#deps, accountId))
      if (position.vehicle_id !== null && position.server_timestamp >= sinceMs)
        this.#receive({
          accountId,
          events: [
            { type: 'location', vehicleId: position.vehicle_id, atMs: position.server_timestamp, data: position },
          ],
        });
    const missed = await notificationsSince(this.#deps, accountId, sinceMs);
    const ids = [...new Set(missed.map(({ vehicleId }) => vehicleId))];
    const vehicles = await vehiclesById(this.#deps.records, { accountId }, ids);
    for (const notification of missed)
      this.#offerToViewers(toOutgoingEvent(notification, vehicles.get(notification.vehicleId)?.ownerUserId ?? null));
  }

  stop(): void {
    this.#subscription.stop();
  }

  #receive({ accountId, events }: LiveEvents): void {
    const nowMs = performance.now();
    for (const live of events) {
      if (!this.#staleEvents.admit(live)) continue;
      const event = new OutgoingEvent(accountId, live);
      if (event.isShareChange) void this.#offerIfOwned(event);
      else if (event.type !== 'location' || this.#throttle.admit(event, locationIntervalMs, nowMs))
        this.#offerToViewers(event);
    }
  }

  // Both accounts get events of a share; the other account leaves the decision to the visibility of the user concerned.
  async #offerIfOwned(event: OutgoingEvent): Promise<void> {
    const { accountId, vehicleId } = event;
    try {
      if ((await vehiclesById(this.#deps.records, { accountId }, [vehicleId])).has(vehicleId))
        this.#offerToViewers(event);
    } catch (error) {
      this.#deps.log.warn({ err: error, vehicleId }, 'could not read the owner of a shared vehicle');
    }
  }

  #offerToViewers(event: OutgoingEvent): void {
    for (const viewer of this.viewers) viewer.offer(event);
  }
}

/** Events in transit at the outage may be lost, too. */
const outageMarginMs = 5_000;
/** A silent broker connection is detected after half a minute: this interval limits what may have been missed. */
const probeIntervalMs = 5_000;
const retryDelayMs = 1_000;

/** Holds the feeds of all accounts with viewers in this process: one subscription each, for any number of viewers. */
export class AccountFeeds {
  readonly #deps: FeedDeps;
  readonly #refreshVisibilities: () => Promise<void>;
  readonly #feeds = new Map<number, AccountFeed>();
  readonly #timers: readonly NodeJS.Timeout[];
  readonly #unsubscribeReconnect: () => void;
  #receivedUntilMs = Date.now();
  #reconnects = 0;
  #missedSinceMs: number | undefined;
  #isStopped = false;

  /** `refreshVisibilities` resolves once viewers have lost access that ended during the outage. */
  constructor(deps: FeedDeps, refreshVisibilities: () => Promise<void>) {
    this.#deps = deps;
    this.#refreshVisibilities = refreshVisibilities;
    this.#unsubscribeReconnect = deps.bus.onReconnect(() => this.#onReconnect());
    this.#timers = [
      setInterval(() => this.#flush(), throttleTickMs).unref(),
      setInterval(() => void this.#probeBroker(), probeIntervalMs).unref(),
    ];
  }

  get size(): number {
    return this.#feeds.size;
  }

  join(accountId: number, viewer: FeedViewer): void {
    const feed = this.#feeds.get(accountId) ?? new AccountFeed(accountId, this.#deps);
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
  flushSubscriptions(): Promise<void> {
    return this.#deps.bus.flush();
  }

  stop(): void {
    this.#isStopped = true;
    this.#unsubscribeReconnect();
    for (const timer of this.#timers) clearInterval(timer);
    for (const feed of this.#feeds.values()) feed.stop();
    this.#feeds.clear();
  }

  #flush(): void {
    const nowMs = performance.now();
    for (const feed of this.#feeds.values()) feed.flush(nowMs);
  }

  /** Flushes the connection: everything sent before the broker's reply has arrived. */
  async #probeBroker(): Promise<void> {
    const { bus } = this.#deps;
    if (!bus.isUp()) return;
    const [atMs, reconnects] = [Date.now(), this.#reconnects];
    const isReachable = await bus.nc.flush().then(
      () => true,
      () => false,
    );
    if (isReachable && reconnects === this.#reconnects) this.#receivedUntilMs = atMs;
  }

  /** Runs after an outage of the broker or of the connection: no recorded event is dropped silently. */
  #onReconnect(): void {
    this.#reconnects += 1;
    const isCatchingUp = this.#missedSinceMs !== undefined;
    this.#missedSinceMs = Math.min(
      this.#missedSinceMs ?? Number.MAX_SAFE_INTEGER,
      this.#receivedUntilMs - outageMarginMs,
    );
    if (!isCatchingUp) void this.#catchUp();
  }

  async #catchUp(): Promise<void> {
    for (let sinceMs = this.#missedSinceMs; sinceMs !== undefined && !this.#isStopped; sinceMs = this.#missedSinceMs)
      try {
        // Events recorded from here on arrive normally.
        await this.flushSubscriptions();
        await this.#refreshVisibilities();
        for (const feed of this.#feeds.values()) await feed.catchUp(sinceMs);
        // Another outage may have occurred in between.
        if (this.#missedSinceMs === sinceMs) this.#missedSinceMs = undefined;
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'could not read the events of a broker outage yet');
        await delay(retryDelayMs, undefined, { ref: false });
      }
  }
}
