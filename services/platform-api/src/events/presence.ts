import { setTimeout as delay } from 'node:timers/promises';
import { sessionChanged, subscribe } from '@fleet/bus';
import { type DeviceState, readDevices } from '@fleet/storage';
import type { ToRaise } from '../domains/notifications/content.ts';
import { lastHeardMs } from '../domains/realtime/rules.ts';
import type { LastLocation } from '../domains/realtime/schema.ts';
import { readLastLocations } from '../domains/realtime/store.ts';
import { recordUnassigned } from '../domains/unassigned-devices/use-cases.ts';
import { type DeviceChange, findDevices, findOnlineDevices, noteDevice } from '../domains/vehicles/devices.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { presentOf } from '../domains/vehicles/states.ts';
import { findVehicleByImei } from '../domains/vehicles/store.ts';
import type { Returned } from '../telemetry/live.ts';
import { tellLive } from './live.ts';
import { type EventParts, type Happening, raisedFor } from './parts.ts';
import { type Noticed, PresenceStore } from './presence-store.ts';

/** When a terminal is offline, and how often that is looked for. */
export interface PresenceTimes {
  readonly offlineAfterMs: number;
  readonly sweepEveryMs: number;
  /** A terminal that comes back reports within this time, most likely: what it does is told then, and once. */
  readonly firstReportMs: number;
}

/** As the contract has them (platform-contract.md, section 3). */
export const presenceTimes: PresenceTimes = { offlineAfterMs: 600_000, sweepEveryMs: 10_000, firstReportMs: 3_000 };

/** What made us look, the weaker before the stronger. Reports tell websockets of states by themselves, but for the first one after a silence. */
const causes = ['report', 'session', 'time'] as const;

interface Look {
  readonly cause: (typeof causes)[number];
  /** When the report was received that has ended a long silence. */
  readonly returnedMs?: number;
  /** It was waited for what belongs to it. */
  readonly hasWaited?: true;
}

const atOnce = 200;
const atWork = 8;
const busyRetryMs = 5_000;
/** Another replica is at the same terminal, most likely for the same reason. */
const othersMs = 200;
/** The session of a terminal that reports may be known a moment later. */
const sessionMs = 1_000;
/** Terminals whose reports this process remembers, so that each is looked at once in a while only. */
const maxRemembered = 500_000;

/** What is known of a terminal at this moment. */
interface Present {
  readonly seenMs: number;
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly state: string;
  readonly device: DeviceState | undefined;
  readonly location: LastLocation | undefined;
}

/**
 * Notices when terminals go and come back: `device_offline` after ten minutes of silence, `device_online` when one that was offline is heard of again, and `status` for
 * websockets. Any number of replicas do so; what was noticed stands in Redis, and whether a terminal was offline in MongoDB too, should Redis be lost.
 */
export class Presence {
  readonly #parts: EventParts;
  readonly #times: PresenceTimes;
  readonly #store: PresenceStore;
  /** When a report of a terminal last made us look. */
  readonly #remembered = new Map<string, number>();
  readonly #waiting = new Map<string, Look>();
  readonly #later = new Map<string, { readonly timer: NodeJS.Timeout; readonly dueMs: number; look: Look }>();
  readonly #stopped = new AbortController();
  readonly #listener: { stop(): void };
  readonly #sweeping: Promise<void>;
  #working: Promise<void> | undefined;

  constructor(parts: EventParts, times: PresenceTimes = presenceTimes) {
    this.#parts = parts;
    this.#times = times;
    this.#store = new PresenceStore(parts.redis);
    this.#listener = subscribe(
      parts.bus,
      sessionChanged,
      (error) => parts.log.warn({ err: error }, 'a change of a session is not valid'),
      ({ imei }) => this.#look(imei, { cause: 'session' }),
      sessionChanged.subject,
      'platform-presence',
    );
    this.#sweeping = this.#sweepAll();
  }

  /** Terminals have reported; cheap, as it is called for each report. */
  heard(imeis: Iterable<string>, returned: Returned, nowMs = Date.now()): void {
    for (const imei of imeis) {
      const before = this.#remembered.get(imei);
      const returnedMs = returned.get(imei);
      // Well before it could have been taken for offline meanwhile.
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

  /** One round: terminals that are due are looked at. */
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
        this.#parts.log.warn({ err: error }, 'who is offline could not be looked for');
      }
    }
  }

  /** Redis has lost when to look at whom: everybody who was there gets the time of one silence from now. */
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

  /** Looks once some time has passed, or with a sweep behind that, should this process die. */
  async #lookLater(imei: string, look: Look, waitMs: number): Promise<void> {
    const dueMs = Date.now() + waitMs;
    if (!this.#stopped.signal.aborted) this.#setTimer(imei, look, { waitMs, dueMs });
    try {
      await this.#store.lookAgain(imei, dueMs + busyRetryMs);
    } catch (error) {
      // It is for a crash alone: this process has its timer.
      this.#parts.log.warn({ err: error, imei }, 'when to look at a terminal again could not be kept');
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
    // What comes in the same turn is looked at together.
    await delay(0);
    while (this.#waiting.size > 0 && !this.#stopped.signal.aborted) {
      const some = [...this.#waiting].slice(0, atOnce);
      for (const [imei] of some) this.#waiting.delete(imei);
      try {
        await this.#lookAt(some);
      } catch (error) {
        // The next report, session or sweep looks again.
        for (const [imei] of some) this.#remembered.delete(imei);
        this.#parts.log.warn({ err: error }, 'whether terminals are there could not be noticed');
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
      // It must not stand in the way of the others.
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
      // Behind a wait it is told as it is.
      await this.#lookLater(imei, { ...look, cause: 'time', hasWaited: true }, waitMs);
      return;
    }
    const isChanged = before === null || before.connected !== now.connected || before.isOffline !== now.isOffline;
    const previous = previousIfTold(look, before, now, isChanged);
    const heardMs = now.location === undefined ? 0 : lastHeardMs(now.location);
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
    // A second later than the last moment at which it is not offline yet.
    else await this.#store.lookAgain(imei, now.seenMs + this.#times.offlineAfterMs + 1_000);
  }

  /** What belongs together is told together: a terminal that comes back has a session first and a report a moment later, and seldom the other way round. */
  #waitMs({ cause, returnedMs, hasWaited }: Look, before: Noticed | null, { device, location, isOffline }: Present) {
    if (hasWaited === true || isOffline) return 0;
    if (returnedMs !== undefined) return device === undefined && location?.source === 'jt808' ? sessionMs : 0;
    const isBack = cause === 'session' && device !== undefined && before?.isOffline !== false;
    const hasReported = location !== undefined && device !== undefined && lastHeardMs(location) >= device.onlineSinceMs;
    return isBack && !hasReported ? this.#times.firstReportMs : 0;
  }

  /** What was noticed before; where Redis does not know, whether it was offline. */
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
    const heardMs = location === undefined ? 0 : lastHeardMs(location);
    const seenMs = Math.max(device?.lastSeenMs ?? 0, heardMs, atLeastSeenMs);
    if (seenMs === 0) return null;
    const nowMs = Date.now();
    const present = presentOf(device, location, nowMs);
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
    const happening = before === null ? null : this.#happeningOf(before, now);
    if (vehicle !== null && happening !== null) {
      const pending = this.#pendingOf(vehicle, happening, now);
      await this.#store.notice(imei, { ...(before ?? noticed), pending });
      await this.#parts.notifications.raise([pending]);
    }
    const edition = now.device?.edition;
    const change: DeviceChange = { isOffline: now.isOffline, seenMs: now.seenMs, ...(edition && { edition }) };
    await noteDevice(this.#parts.database, imei, change);
    if (vehicle === null) await recordUnassigned(this.#parts, imei, now.seenMs, edition && { edition });
  }

  #happeningOf(before: Noticed, now: Present): Happening | null {
    if (before.isOffline === now.isOffline) return null;
    const lastSeen = new Date(before.isOffline ? before.seenMs : now.seenMs).toISOString();
    const attributes = { last_seen: lastSeen };
    // By when it was last seen, whoever notices it, and however late.
    if (now.isOffline)
      return { type: 'device_offline', subject: '', atMs: now.seenMs + this.#times.offlineAfterMs, attributes };
    const backMs =
      now.device !== undefined && now.device.onlineSinceMs > before.seenMs ? now.device.onlineSinceMs : now.seenMs;
    return { type: 'device_online', subject: '', atMs: backMs, attributes };
  }

  #pendingOf(vehicle: Vehicle, happening: Happening, { location }: Present): ToRaise {
    const { latitude, longitude, gpsValid } = location ?? { latitude: 0, longitude: 0, gpsValid: false };
    const raised = { ...happening, latitude, longitude, gpsValid, backfilled: false };
    return { vehicle: raisedFor(vehicle), raised };
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
    tellLive(this.#parts.bus, vehicle.accountId, [{ type: 'status', vehicleId: vehicle._id, data }]);
  }
}

/** One look for two reasons. */
const both = (one: Look, other: Look): Look => {
  const returnedMs = Math.max(one.returnedMs ?? 0, other.returnedMs ?? 0);
  return {
    cause: causes.indexOf(one.cause) > causes.indexOf(other.cause) ? one.cause : other.cause,
    ...(returnedMs === 0 ? {} : { returnedMs }),
    ...(one.hasWaited === true || other.hasWaited === true ? { hasWaited: true } : {}),
  };
};

/**
 * The state that the terminal had, where what it has now is to be told; null where that is not. What it does is told with its reports, but not that it is there again:
 * not by its first one after a silence, by which nobody knows what it was before, nor where it was away for too short a time to be offline.
 */
function previousIfTold(
  { cause, returnedMs }: Look,
  before: Noticed | null,
  now: Present,
  isChanged: boolean,
): string | null {
  if (before === null) return 'never_connected';
  const isReturn = returnedMs !== undefined && (before.toldReportMs ?? 0) < returnedMs;
  const isBack = before.isOffline || (now.connected && !before.connected);
  if (!isReturn && (!isChanged || (cause === 'report' && !isBack))) return null;
  if (before.isOffline) return 'offline';
  // It lived without saying where it was, and so stood still.
  return isReturn ? 'stopped' : stateThen(now);
}

/** The state as it was when the terminal was last seen. */
const stateThen = ({ location, seenMs }: Present): string => {
  const { state } = presentOf(undefined, location, location === undefined ? seenMs : lastHeardMs(location));
  return state === 'never_connected' ? 'stopped' : state;
};
