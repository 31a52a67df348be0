import {
  ensureStreams,
  headers,
  JetStreamPublisher,
  type LiveEvent,
  liveEvents,
  liveSubject,
  type NotificationRaised,
  notificationSubject,
  publish,
  type StreamConfig,
  toStreamOptions,
} from '@fleet/bus';
import { AppError, activeTrace, minuteMs, runDetached, runInTrace, TtlCache } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { FindingUpdate } from '../../rules/rule.ts';
import { isAccountActive } from '../accounts/account-status.ts';
import { readLiveStates } from '../vehicles/live-states.ts';
import { findVehicleOwnerIds } from '../vehicles/queries.ts';
import { applyUpdates } from './apply-updates.ts';
import { findAddress } from './find-address.ts';
import { insertNotifications } from './insert-notifications.ts';
import { LanguageCache } from './language-cache.ts';
import { PreferenceCache } from './preference-cache.ts';
import { toEvent, toNotificationResponse } from './responses.ts';
import type { Notification } from './schema.ts';
import { type NotificationRequest, notificationDedupeKey, toNotification } from './to-notification.ts';

type PublisherDeps = Pick<Deps, 'records' | 'database' | 'redis' | 'bus' | 'log' | 'maps' | 'thresholds'> & {
  readonly config: StreamConfig & Pick<Deps['config'], 'TELEMETRY_PARTITIONS'>;
};

/** After this time, a broker that has not stored a message counts as unavailable. */
const publishTimeoutMs = 10_000;
/** Largest number of notifications that are recorded in one batch. */
const maxBatchSize = 500;
/**
 * Unconfirmed bytes above which the rest waits. Otherwise the publisher would have no room for it, also on every retry.
 */
const maxPendingBytes = 4 * 1024 * 1024;
/**
 * Largest number of events in a live message, which stays below the limit of the broker even if all attributes have
 * their maximum size.
 */
const maxEventsPerMessage = 50;
/**
 * Age up to which a notification is published again. This is longer than the recovery from a crash takes; older ones
 * were published then.
 */
const renotifyIntervalMs = 5 * minuteMs;

/** Age after which a change of the account status takes effect. */
const accountStatusTtlMs = 5_000;

const encoder = new TextEncoder();

interface QueuedCall {
  readonly items: readonly NotificationRequest[];
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Records the findings of rules and publishes them. All notifications of vehicles are raised here. */
export class NotificationPublisher {
  readonly preferenceCache: PreferenceCache;
  readonly #deps: PublisherDeps;
  readonly #languages: LanguageCache;
  readonly #activeAccounts = new TtlCache<boolean, number>({ ttlMs: accountStatusTtlMs });
  readonly #publisher: JetStreamPublisher;
  readonly #offReconnect: () => void;
  #queue: QueuedCall[] = [];
  #isRecording = false;
  #streams: Promise<void> | undefined;

  constructor(parts: PublisherDeps) {
    this.#deps = parts;
    this.preferenceCache = new PreferenceCache(parts);
    this.#languages = new LanguageCache(parts.records);
    const onRefused = (detail: string): void => parts.log.warn({ detail }, 'notifications are not stored yet');
    // A broker that restarted without its data has no streams.
    this.#offReconnect = parts.bus.onReconnect(() => {
      this.#streams = undefined;
    });
    this.#publisher = new JetStreamPublisher(parts.bus, { timeoutMs: publishTimeoutMs, onRejected: onRefused });
  }

  /**
   * Resolves once all notifications are recorded and in the stream NOTIFICATIONS. If it rejects, call it again with the
   * same items. Notifications that were raised before stay as they are recorded, and are published again under their
   * keys.
   */
  raise(items: readonly NotificationRequest[]): Promise<void> {
    if (items.length === 0) return Promise.resolve();
    const trace = activeTrace();
    const traced = trace === undefined ? items : items.map((item) => ({ trace, ...item }));
    return new Promise((resolve, reject) => {
      this.#queue.push({ items: traced, resolve, reject });
      // The queue serves all callers.
      if (!this.#isRecording) runDetached(() => void this.#recordQueued());
    });
  }

  /** Sets attributes of recorded notifications; unknown keys are ignored. Idempotent. */
  async update(items: readonly FindingUpdate[]): Promise<void> {
    const changed = await applyUpdates(this.#deps.records, items);
    if (changed.length > 0) await this.publish(changed);
  }

  /** Publishes the current state of notifications to subscribers. */
  async publish(notifications: readonly Notification[]): Promise<void> {
    this.#publishEvents(notifications, await this.#ownersOf(notifications));
  }

  stop(): void {
    this.#offReconnect();
    this.preferenceCache.stop();
    this.#publisher.stop();
  }

  /**
   * Calls that arrive while a batch is being recorded share the next one, as each batch costs the same few database
   * round trips.
   */
  async #recordQueued(): Promise<void> {
    this.#isRecording = true;
    while (this.#queue.length > 0) await this.#recordBatch(this.#nextBatch());
    this.#isRecording = false;
  }

  #nextBatch(): QueuedCall[] {
    let count = 0;
    const end = this.#queue.findIndex(({ items }, at) => {
      count += items.length;
      return at > 0 && count > maxBatchSize;
    });
    return this.#queue.splice(0, end === -1 ? this.#queue.length : end);
  }

  async #recordBatch(calls: readonly QueuedCall[]): Promise<void> {
    try {
      const items = calls.flatMap((call) => call.items);
      const recorded = await this.#record(items);
      // The next batch does not wait for the broker.
      this.#publish(items, recorded).then(
        () => calls.forEach(({ resolve }) => resolve()),
        (error: unknown) => calls.forEach(({ reject }) => reject(error)),
      );
    } catch (error) {
      const [first, ...others] = calls;
      // Records each call alone, so that only the one that cannot be recorded fails.
      if (others.length > 0) await Promise.all(calls.map((call) => this.#recordBatch([call])));
      else first?.reject(error);
    }
  }

  async #record(items: readonly NotificationRequest[]): Promise<Notification[]> {
    const imeis = [...new Set(items.flatMap(({ vehicle: { imei } }) => imei ?? []))];
    const [languages, states] = await Promise.all([
      this.#languages.of(items.map(({ vehicle }) => vehicle)),
      readLiveStates(this.#deps, imeis),
    ]);
    const contents = items.map(async (item) => {
      const { imei, ownerUserId } = item.vehicle;
      const displayImei = imei === null ? null : (states.get(imei)?.displayImei ?? null);
      const language = languages.get(ownerUserId) ?? 'en';
      return toNotification(item, language, { displayImei, address: await findAddress(this.#deps, item, language) });
    });
    return insertNotifications(this.#deps, await Promise.all(contents));
  }

  async #publish(items: readonly NotificationRequest[], recorded: readonly Notification[]): Promise<void> {
    await this.#ensureStreams();
    const requests = new Map(items.map((item) => [notificationDedupeKey(item.vehicle, item.raised), item]));
    const preferences = await this.preferenceCache.ofVehicles(items.map(({ vehicle }) => vehicle.id));
    const letIn = await this.#findActive(recorded);
    let stored: Promise<void>[] = [];
    for (const notification of recorded) {
      const { vehicle, trace } = requests.get(notification.dedupeKey) as NotificationRequest;
      const { imei, ownerUserId, id } = vehicle;
      const isWanted = preferences.get(id)?.wants(ownerUserId, notification.type) ?? true;
      const payload: NotificationRaised = {
        accountId: notification.accountId,
        ownerUserId,
        wantedByOwner: isWanted && letIn.get(notification.accountId) === true,
        addressForOthers: notification.address,
        notification: toNotificationResponse(notification),
      };
      const subject = notificationSubject(notification.accountId, imei);
      stored.push(runInTrace(trace, () => this.#store(subject, notification.dedupeKey, payload)));
      if (this.#publisher.pendingBytes < maxPendingBytes) continue;
      await Promise.all(stored);
      stored = [];
    }
    await Promise.all(stored);
    const recent = recorded.filter(({ createdAt }) => Date.now() - createdAt.getTime() < renotifyIntervalMs);
    this.#publishEvents(recent, new Map(items.map(({ vehicle: { id, ownerUserId } }) => [id, ownerUserId])));
  }

  /** Returns which accounts are active. Notifications of a suspended account are not sent to webhooks. */
  async #findActive(notifications: readonly Notification[]): Promise<ReadonlyMap<number, boolean>> {
    const { records } = this.#deps;
    const ids = [...new Set(notifications.map(({ accountId }) => accountId))];
    const known = ids.map(
      async (id) => [id, await this.#activeAccounts.get(id, () => isAccountActive(records, id))] as const,
    );
    return new Map(await Promise.all(known));
  }

  #store(subject: string, dedupeKey: string, payload: NotificationRaised): Promise<void> {
    return new Promise((resolve, reject) => {
      const head = headers();
      head.set('Nats-Msg-Id', dedupeKey);
      const done = (isStored: boolean): void => {
        if (isStored) resolve();
        else reject(new AppError('unavailable', 'Notifications cannot be stored at the moment. Retry.'));
      };
      if (!this.#publisher.publish(subject, encoder.encode(JSON.stringify(payload)), done, head)) done(false);
    });
  }

  #publishEvents(notifications: readonly Notification[], owners: ReadonlyMap<number, number>): void {
    const byAccount = new Map<number, LiveEvent[]>();
    for (const notification of notifications) {
      const user = owners.get(notification.vehicleId);
      // The vehicle was deleted, so it has no subscribers.
      if (user === undefined) continue;
      const events = byAccount.get(notification.accountId) ?? [];
      byAccount.set(notification.accountId, events);
      events.push({
        type: 'notification',
        vehicleId: notification.vehicleId,
        atMs: notification.serverTimestamp,
        data: toEvent(notification, user),
      });
    }
    for (const [accountId, events] of byAccount)
      for (let at = 0; at < events.length; at += maxEventsPerMessage)
        publish(
          this.#deps.bus,
          liveEvents,
          { accountId, events: events.slice(at, at + maxEventsPerMessage) },
          liveSubject(accountId),
        );
  }

  async #ownersOf(notifications: readonly Notification[]): Promise<Map<number, number>> {
    const ids = [...new Set(notifications.map(({ vehicleId }) => vehicleId))];
    return findVehicleOwnerIds(this.#deps.records, ids);
  }

  async #ensureStreams(): Promise<void> {
    this.#streams ??= this.#createStreams();
    try {
      await this.#streams;
    } catch (error) {
      // The next call retries.
      this.#streams = undefined;
      throw error;
    }
  }

  async #createStreams(): Promise<void> {
    const { bus, config } = this.#deps;
    await ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
  }
}
