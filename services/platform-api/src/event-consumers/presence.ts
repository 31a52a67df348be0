import { setTimeout as delay } from 'node:timers/promises';
import { sessionChanged, subscribe } from '@fleet/bus';
import { type DeviceState, readDevices } from '@fleet/storage';
import { readLastLocations } from '../domains/last-positions/queries.ts';
import { lastReceivedMs } from '../domains/last-positions/rules.ts';
import type { LastLocation } from '../domains/last-positions/schema.ts';
import type { NotificationRequest } from '../domains/notifications/to-notification.ts';
import { recordUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { type DeviceChange, findDevices, findOnlineDevices, upsertDevice } from '../domains/vehicles/devices.ts';
import { deriveLiveState } from '../domains/vehicles/live-states.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { VehicleThresholds } from '../platform/thresholds.ts';
import type { ReturningTerminals } from '../telemetry/publish-positions.ts';
import { type Noticed, PresenceStore } from './presence-store.ts';
import { publishLive } from './publish-live.ts';
import { type EventConsumerDeps, toNotificationVehicle, type VehicleEvent } from './vehicle-events.ts';

/** Offline threshold and poll interval. */
export interface PresenceTimes {
  readonly offlineAfterMs: number;
  readonly sweepEveryMs: number;
  /** A returning terminal most likely reports within this time: its state is then published once. */
  readonly firstReportMs: number;
}

const defaultTimes = { sweepEveryMs: 10_000, firstReportMs: 3_000 };

/** Reasons of a check, weaker ones first. Reports publish states themselves, except the first one after a silence. */
const causes = ['report', 'session', 'time'] as const;

interface Look {
  readonly cause: (typeof causes)[number];
  /** Receive time of the report that ended a long silence. */
  readonly returnedMs?: number;
  /** The related session or report was waited for. */
  readonly hasWaited?: true;
}

const atOnce = 200;
const atWork = 8;
const busyRetryMs = 5_000;
/** Another replica is checking the same terminal, most likely for the same reason. */
const othersMs = 200;
/** The session of a reporting terminal may be known shortly afterwards. */
const sessionMs = 1_000;
/** Number of terminals whose last check this process stores, so that each is checked only now and then. */
const maxRemembered = 500_000;

/** Current knowledge of a terminal. */
interface Present {
  readonly seenMs: number;
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly state: string;
  readonly device: DeviceState | undefined;
  readonly location: LastLocation | undefined;
}

/**
 * Detects terminals that go offline and return: `device_offline` after a long silence, `device_online` at the
 * next report, and `status` for websockets. Any number of replicas share the work. The last status is in Redis, and the
 * offline state also in MongoDB.
 */
export class Presence {
  readonly #parts: EventConsumerDeps;
  readonly #times: PresenceTimes;
  readonly #store: PresenceStore;
  /** Time of the last check because of a report. */
  readonly #remembered = new Map<string, number>();
  readonly #waiting = new Map<string, Look>();
  readonly #later = new Map<string, { readonly timer: NodeJS.Timeout; readonly dueMs: number; look: Look }>();
  readonly #stopped = new AbortController();
  readonly #listener: { stop(): void };
  readonly #sweeping: Promise<void>;
  #working: Promise<void> | undefined;

  constructor(deps: EventConsumerDeps, times?: PresenceTimes) {
    this.#parts = deps;
    this.#times = times ?? { ...defaultTimes, offlineAfterMs: deps.thresholds.offlineAfterMs };
    this.#store = new PresenceStore(deps.redis);
    this.#listener = subscribe(
      deps.bus,
      sessionChanged,
      (error) => deps.log.warn({ err: error }, 'invalid session event'),
      ({ imei }) => this.#look(imei, { cause: 'session' }),
      sessionChanged.subject,
      'platform-presence',
    );
    this.#sweeping = this.#sweepAll();
  }

  /** Handles reports of terminals; cheap, because it is called for each report. */
  onReports(imeis: Iterable<string>, returned: ReturningTerminals, nowMs = Date.now()): void {
    for (const imei of imeis) {
      const before = this.#remembered.get(imei);
      const returnedMs = returned.get(imei);
      // Well before the terminal could be considered offline.
      const isFresh = before !== undefined && nowMs - before < this.#times.offlineAfterMs / 2;
      if (isFresh && returnedMs === undefined) continue;
      if (this.#remembered.size >= maxRemembered) this.#remembered.clear();
      this.#remembered.set(imei, nowMs);
      this.#look(imei, { cause: 'report', ...(returnedMs === undefined ? {} : { returnedMs }) });
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#listener.stop();
    for (const { timer } of this.#later.values()) clearTimeout(timer);
    await this.#sweeping;
    await this.#working;
  }

  /** Checks all due terminals once. */
  async sweep(nowMs = Date.now()): Promise<void> {
    if (await this.#store.isEmpty()) await this.#rebuild(nowMs);
    for (;;) {
      const imeis = await this.#store.due(nowMs, atOnce);
      if (imeis.length === 0 || this.#stopped.signal.aborted) return;
      await this.#lookAt(imeis.map((imei) => [imei, { cause: 'time' }] as const));
      if (imeis.length < atOnce) return;
    }
  }

  async #sweepAll(): Promise<void> {
    const { sweepEveryMs } = this.#times;
    while (!this.#stopped.signal.aborted) {
      await delay(sweepEveryMs, undefined, { signal: this.#stopped.signal }).catch(() => undefined);
      if (this.#stopped.signal.aborted) return;
      try {
        if (await this.#store.isMyTurn(sweepEveryMs)) await this.sweep();
      } catch (error) {
        this.#parts.log.warn({ err: error }, 'offline check failed');
      }
    }
  }

  /** Rebuilds the schedule after a loss of Redis: every online terminal is due after one silence from now. */
  async #rebuild(nowMs: number): Promise<void> {
    let after = '';
    for (;;) {
      const page = await findOnlineDevices(this.#parts.database, after, 1_000);
      await this.#store.fill(
        page.map(({ _id }) => _id),
        nowMs + this.#times.offlineAfterMs,
      );
      const last = page.at(-1);
      if (last === undefined) break;
      after = last._id;
    }
    await this.#store.filled();
  }

  #look(imei: string, look: Look): void {
    const waiting = this.#waiting.get(imei);
    this.#waiting.set(imei, waiting === undefined ? look : both(waiting, look));
    this.#working ??= this.#work().finally(() => {
      this.#working = undefined;
    });
  }

  /** Schedules a check; a later job repeats it in case this process dies. */
  async #lookLater(imei: string, look: Look, waitMs: number): Promise<void> {
    const dueMs = Date.now() + waitMs;
    if (!this.#stopped.signal.aborted) this.#setTimer(imei, look, { waitMs, dueMs });
    try {
      await this.#store.lookAgain(imei, dueMs + busyRetryMs);
    } catch (error) {
      // Needed after a crash only: this process has its timer.
      this.#parts.log.warn({ err: error, imei }, 'could not schedule an online check');
    }
  }

  #setTimer(imei: string, look: Look, { waitMs, dueMs }: { readonly waitMs: number; readonly dueMs: number }): void {
    const known = this.#later.get(imei);
    const wanted = known === undefined ? look : both(known.look, look);
    if (known !== undefined && known.dueMs <= dueMs) {
      known.look = wanted;
      return;
    }
    clearTimeout(known?.timer);
    const timer = setTimeout(() => {
      const later = this.#later.get(imei);
      this.#later.delete(imei);
      this.#look(imei, later?.look ?? look);
    }, waitMs);
    this.#later.set(imei, { timer, dueMs, look: wanted });
  }

  async #work(): Promise<void> {
    // Reports of one iteration of the event loop are checked together.
    await delay(0);
    while (this.#waiting.size > 0 && !this.#stopped.signal.aborted) {
      const some = [...this.#waiting].slice(0, atOnce);
      for (const [imei] of some) this.#waiting.delete(imei);
      try {
        await this.#lookAt(some);
      } catch (error) {
        // The next report, session or job checks again.
        for (const [imei] of some) this.#remembered.delete(imei);
        this.#parts.log.warn({ err: error }, 'could not check the online status');
      }
    }
  }

  async #lookAt(some: readonly (readonly [string, Look])[]): Promise<void> {
    const failed: unknown[] = [];
    for (let at = 0; at < some.length; at += atWork) {
      const looks = some.slice(at, at + atWork).map(([imei, look]) => this.#lookAtOne(imei, look));
      for (const look of await Promise.allSettled(looks)) if (look.status === 'rejected') failed.push(look.reason);
    }
    if (failed.length > 0) throw failed[0];
  }

  async #lookAtOne(imei: string, look: Look): Promise<void> {
    try {
      if (await this.#store.alone(imei, () => this.#notice(imei, look))) return;
    } catch (error) {
      // A failure must not delay the others.
      await this.#lookLater(imei, look, busyRetryMs);
      throw error;
    }
    await this.#lookLater(imei, look, othersMs);
  }

  async #notice(imei: string, look: Look): Promise<void> {
    const before = await this.#before(imei);
    if (before?.pending !== undefined) await this.#parts.notifications.raise([before.pending]);
    const now = await this.#present(imei, before?.seenMs ?? 0);
    if (now === null) {
      await this.#store.lookNoMore(imei);
      return;
    }
    const waitMs = this.#waitMs(look, before, now);
    if (waitMs > 0) {
      // After the wait the state is published as it is.
      await this.#lookLater(imei, { ...look, cause: 'time', hasWaited: true }, waitMs);
      return;
    }
    const isChanged = before === null || before.connected !== now.connected || before.isOffline !== now.isOffline;
    const previous = previousIfTold(look, before, now, isChanged, this.#parts.thresholds);
    const heardMs = now.location === undefined ? 0 : lastReceivedMs(now.location);
    const told = previous === null ? before?.toldReportMs : heardMs;
    const noticed: Noticed = {
      connected: now.connected,
      isOffline: now.isOffline,
      seenMs: now.seenMs,
      ...(told === undefined ? {} : { toldReportMs: told }),
    };
    if (isChanged) await this.#tell(imei, before, now, noticed);
    if (previous !== null) await this.#tellLive(imei, previous, before, now);
    if (isChanged || previous !== null || before.seenMs !== now.seenMs || before.pending !== undefined)
      await this.#store.notice(imei, noticed);
    if (now.isOffline) await this.#store.lookNoMore(imei);
    // One second after the offline threshold.
    else await this.#store.lookAgain(imei, now.seenMs + this.#times.offlineAfterMs + 1_000);
  }

  /**
   * Waits for related events: a returning terminal has a session first and a report shortly afterwards, seldom the other
   * way round.
   */
  #waitMs({ cause, returnedMs, hasWaited }: Look, before: Noticed | null, { device, location, isOffline }: Present) {
    if (hasWaited === true || isOffline) return 0;
    if (returnedMs !== undefined) return device === undefined && location?.source === 'jt808' ? sessionMs : 0;
    const isBack = cause === 'session' && device !== undefined && before?.isOffline !== false;
    const hasReported =
      location !== undefined && device !== undefined && lastReceivedMs(location) >= device.onlineSinceMs;
    return isBack && !hasReported ? this.#times.firstReportMs : 0;
  }

  /** Returns the last status; if Redis has none, whether it was offline. */
  async #before(imei: string): Promise<Noticed | null> {
    const noticed = await this.#store.noticed(imei);
    if (noticed !== null) return noticed;
    const record = (await findDevices(this.#parts.database, [imei])).get(imei);
    if (record?.isOffline === undefined) return null;
    return { connected: !record.isOffline, isOffline: record.isOffline, seenMs: record.seenMs ?? 0 };
  }

  async #present(imei: string, atLeastSeenMs: number): Promise<Present | null> {
    const { redis } = this.#parts;
    const [devices, locations] = await Promise.all([readDevices(redis, [imei]), readLastLocations(redis, [imei])]);
    const [device, location] = [devices.get(imei), locations.get(imei)];
    const heardMs = location === undefined ? 0 : lastReceivedMs(location);
    const seenMs = Math.max(device?.lastSeenMs ?? 0, heardMs, atLeastSeenMs);
    if (seenMs === 0) return null;
    const nowMs = Date.now();
    const present = deriveLiveState(device, location, nowMs, this.#parts.thresholds);
    const isOffline = nowMs - seenMs > this.#times.offlineAfterMs;
    return {
      seenMs,
      connected: present.device?.connected ?? false,
      isOffline,
      state: isOffline ? 'offline' : present.state,
      device,
      location,
    };
  }

  async #tell(imei: string, before: Noticed | null, now: Present, noticed: Noticed): Promise<void> {
    const vehicle = await findVehicleByImei(this.#parts.records, imei);
    const event = before === null ? null : this.#happeningOf(before, now);
    if (vehicle !== null && event !== null) {
      const pending = this.#pendingOf(vehicle, event, now);
      await this.#store.notice(imei, { ...(before ?? noticed), pending });
      await this.#parts.notifications.raise([pending]);
    }
    const edition = now.device?.edition;
    const change: DeviceChange = { isOffline: now.isOffline, seenMs: now.seenMs, ...(edition && { edition }) };
    await upsertDevice(this.#parts.database, imei, change);
    if (vehicle === null) await recordUnassigned(this.#parts, imei, now.seenMs, edition && { edition });
  }

  #happeningOf(before: Noticed, now: Present): VehicleEvent | null {
    if (before.isOffline === now.isOffline) return null;
    const lastSeen = new Date(before.isOffline ? before.seenMs : now.seenMs).toISOString();
    const attributes = { last_seen: lastSeen };
    // Dated by its last report, whichever replica notices it, and however late.
    if (now.isOffline)
      return { type: 'device_offline', subject: '', atMs: now.seenMs + this.#times.offlineAfterMs, attributes };
    const backMs =
      now.device !== undefined && now.device.onlineSinceMs > before.seenMs ? now.device.onlineSinceMs : now.seenMs;
    return { type: 'device_online', subject: '', atMs: backMs, attributes };
  }

  #pendingOf(vehicle: Vehicle, event: VehicleEvent, { location }: Present): NotificationRequest {
    const { latitude, longitude, gpsValid } = location ?? { latitude: 0, longitude: 0, gpsValid: false };
    const raised = { ...event, latitude, longitude, gpsValid, backfilled: false };
    return { vehicle: toNotificationVehicle(vehicle), raised };
  }

  async #tellLive(imei: string, previous: string, before: Noticed | null, now: Present): Promise<void> {
    if (previous === now.state && before?.connected === now.connected) return;
    const vehicle = await findVehicleByImei(this.#parts.records, imei);
    if (vehicle === null) return;
    const data = {
      vehicle_id: vehicle._id,
      imei: now.device?.phone ?? now.location?.imei ?? vehicle.recordedImei ?? imei,
      connected: now.connected,
      state: now.state,
      previous_state: previous,
      last_seen: new Date(now.seenMs).toISOString(),
    };
    publishLive(this.#parts.bus, vehicle.accountId, [{ type: 'status', vehicleId: vehicle._id, data }]);
  }
}

/** Merges two reasons of one check. */
const both = (one: Look, other: Look): Look => {
  const returnedMs = Math.max(one.returnedMs ?? 0, other.returnedMs ?? 0);
  return {
    cause: causes.indexOf(one.cause) > causes.indexOf(other.cause) ? one.cause : other.cause,
    ...(returnedMs === 0 ? {} : { returnedMs }),
    ...(one.hasWaited === true || other.hasWaited === true ? { hasWaited: true } : {}),
  };
};

/**
 * Returns the previous state if the change must be published, else null: not for the first report after start-up, nor
 * after a gap shorter than the offline threshold.
 */
function previousIfTold(
  { cause, returnedMs }: Look,
  before: Noticed | null,
  now: Present,
  isChanged: boolean,
  thresholds: VehicleThresholds,
): string | null {
  if (before === null) return 'never_connected';
  const isReturn = returnedMs !== undefined && (before.toldReportMs ?? 0) < returnedMs;
  const isBack = before.isOffline || (now.connected && !before.connected);
  if (!isReturn && (!isChanged || (cause === 'report' && !isBack))) return null;
  if (before.isOffline) return 'offline';
  // Heartbeats without a position: the vehicle was standing.
  return isReturn ? 'stopped' : stateThen(now, thresholds);
}

/** Returns the state when the terminal was last seen. */
const stateThen = ({ location, seenMs }: Present, thresholds: VehicleThresholds): string => {
  const atMs = location === undefined ? seenMs : lastReceivedMs(location);
  const { state } = deriveLiveState(undefined, location, atMs, thresholds);
  return state === 'never_connected' ? 'stopped' : state;
};
