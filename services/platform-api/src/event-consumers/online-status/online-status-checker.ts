import { type DelayedJobs, readDevices } from '@fleet/storage';
import { readLastLocations } from '../../domains/last-positions/queries.ts';
import type { NotificationRequest } from '../../domains/notifications/to-notification.ts';
import { recordUnassigned } from '../../domains/unassigned-devices/use-cases.ts';
import { type DeviceChange, findDevices, upsertDevice } from '../../domains/vehicles/devices.ts';
import { findVehicleByImei } from '../../domains/vehicles/queries.ts';
import type { Vehicle } from '../../domains/vehicles/schema.ts';
import { publishLive } from '../publish-live.ts';
import { type EventConsumerDeps, toNotificationVehicle, type VehicleEvent } from '../vehicle-events.ts';
import {
  type CurrentStatus,
  deriveStatus,
  isStatusChanged,
  type LastStatus,
  previousStateToPublish,
  relatedEventDelayMs,
  type StatusCheck,
  toOnlineEvent,
  toStoredStatus,
} from './online-status-rules.ts';
import type { OnlineStatusStore } from './online-status-store.ts';

/** Another replica is checking the same terminal, most likely for the same reason. */
const contendedRetryMs = 200;
/** A terminal is checked this long after the offline threshold. */
const marginMs = 1_000;

/** Dependencies of a checker. */
interface CheckerDeps extends EventConsumerDeps {
  readonly store: OnlineStatusStore;
  readonly schedule: DelayedJobs;
}

/** A check to make after a delay. */
export interface DelayedCheck {
  readonly check: StatusCheck;
  readonly delayMs: number;
}

/** Compares the status of a terminal with the last one, and publishes what has changed. */
export class OnlineStatusChecker {
  readonly #deps: CheckerDeps;
  readonly #firstReportTimeoutMs: number;

  /** @param firstReportTimeoutMs - time within which a returning terminal most likely reports */
  constructor(deps: CheckerDeps, firstReportTimeoutMs: number) {
    this.#deps = deps;
    this.#firstReportTimeoutMs = firstReportTimeoutMs;
  }

  /** Checks a terminal. Returns a check to make later, or null. */
  async check(imei: string, check: StatusCheck): Promise<DelayedCheck | null> {
    const locked = await this.#deps.store.withLock(imei, () => this.#checkLocked(imei, check));
    return locked === null ? { check, delayMs: contendedRetryMs } : locked.result;
  }

  async #checkLocked(imei: string, check: StatusCheck): Promise<DelayedCheck | null> {
    const last = await this.#findLast(imei);
    if (last?.pending !== undefined) await this.#deps.notifications.raise([last.pending]);
    const current = await this.#readCurrent(imei, last?.seenMs ?? 0);
    if (current === null) {
      await this.#deps.schedule.cancel(imei);
      return null;
    }
    const delayMs = relatedEventDelayMs(check, last, current, this.#firstReportTimeoutMs);
    // After the wait the state is published as it is.
    if (delayMs > 0) return { check: { ...check, trigger: 'time', hasWaited: true }, delayMs };
    await this.#publishChanges(imei, { check, last, current });
    if (current.isOffline) await this.#deps.schedule.cancel(imei);
    else await this.#deps.schedule.schedule(imei, current.seenMs + this.#deps.thresholds.offlineAfterMs + marginMs);
    return null;
  }

  /** Returns the last status; if Redis has none, whether the terminal was offline. */
  async #findLast(imei: string): Promise<LastStatus | null> {
    const stored = await this.#deps.store.find(imei);
    if (stored !== null) return stored;
    const record = (await findDevices(this.#deps.database, [imei])).get(imei);
    if (record?.isOffline === undefined) return null;
    return { connected: !record.isOffline, isOffline: record.isOffline, seenMs: record.seenMs ?? 0 };
  }

  async #readCurrent(imei: string, lastSeenMs: number): Promise<CurrentStatus | null> {
    const { redis, thresholds } = this.#deps;
    const [devices, locations] = await Promise.all([readDevices(redis, [imei]), readLastLocations(this.#deps, [imei])]);
    const data = { device: devices.get(imei), location: locations.get(imei) };
    return deriveStatus(data, { lastSeenMs, nowMs: Date.now(), thresholds });
  }

  async #publishChanges(
    imei: string,
    { check, last, current }: { check: StatusCheck; last: LastStatus | null; current: CurrentStatus },
  ): Promise<void> {
    const isChanged = isStatusChanged(last, current);
    const previousState = previousStateToPublish(check, last, current, this.#deps.thresholds);
    const stored = toStoredStatus(last, current, previousState !== null);
    if (isChanged) await this.#recordChange(imei, last, current, stored);
    if (previousState !== null) await this.#publishStatus(imei, previousState, last, current);
    if (isChanged || previousState !== null || last?.seenMs !== current.seenMs || last.pending !== undefined)
      await this.#deps.store.save(imei, stored);
  }

  async #recordChange(
    imei: string,
    last: LastStatus | null,
    current: CurrentStatus,
    stored: LastStatus,
  ): Promise<void> {
    const vehicle = await findVehicleByImei(this.#deps.records, imei);
    const event = last === null ? null : toOnlineEvent(last, current, this.#deps.thresholds.offlineAfterMs);
    if (vehicle !== null && event !== null) {
      const pending = toNotificationRequest(vehicle, event, current);
      await this.#deps.store.save(imei, { ...(last ?? stored), pending });
      await this.#deps.notifications.raise([pending]);
    }
    const edition = current.device?.edition;
    const { isOffline, seenMs } = current;
    const change: DeviceChange = { isOffline, seenMs, ...(edition && { edition }) };
    await upsertDevice(this.#deps.database, imei, change);
    if (vehicle === null) await recordUnassigned(this.#deps, imei, seenMs, edition && { edition });
  }

  async #publishStatus(
    imei: string,
    previousState: string,
    last: LastStatus | null,
    current: CurrentStatus,
  ): Promise<void> {
    if (previousState === current.state && last?.connected === current.connected) return;
    const vehicle = await findVehicleByImei(this.#deps.records, imei);
    if (vehicle === null) return;
    const data = {
      vehicle_id: vehicle._id,
      imei: current.device?.phone ?? current.location?.imei ?? vehicle.recordedImei ?? imei,
      connected: current.connected,
      state: current.state,
      previous_state: previousState,
      state_since: current.stateSinceMs,
      last_seen: new Date(current.seenMs).toISOString(),
    };
    publishLive(this.#deps.bus, vehicle.accountId, [{ type: 'status', vehicleId: vehicle._id, data }]);
  }
}

function toNotificationRequest(
  vehicle: Vehicle,
  event: VehicleEvent,
  { location }: CurrentStatus,
): NotificationRequest {
  const { latitude, longitude, gpsValid } = location ?? { latitude: 0, longitude: 0, gpsValid: false };
  const raised = { ...event, latitude, longitude, gpsValid, backfilled: false };
  return { vehicle: toNotificationVehicle(vehicle), raised };
}
