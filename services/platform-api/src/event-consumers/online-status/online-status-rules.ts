import type { DeviceState } from '@fleet/storage';
import { lastReceivedMs } from '../../domains/last-positions/rules.ts';
import type { LastLocation } from '../../domains/last-positions/schema.ts';
import type { NotificationRequest } from '../../domains/notifications/to-notification.ts';
import { deriveLiveState } from '../../domains/vehicles/live-states.ts';
import type { VehicleThresholds } from '../../platform/thresholds.ts';
import type { VehicleEvent } from '../vehicle-events.ts';

/** Reasons of a check, weaker ones first. Reports publish states themselves, except the first one after a silence. */
const triggers = ['report', 'session', 'time'] as const;

/** A check of the online status of a terminal. */
export interface StatusCheck {
  readonly trigger: (typeof triggers)[number];
  /** Receive time of the report that ended a long silence. */
  readonly returnedMs?: number;
  /** The related session or report was waited for. */
  readonly hasWaited?: true;
}

/** Online status that was stored last. */
export interface LastStatus {
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly seenMs: number;
  /** Receive time of the report whose state was published last. */
  readonly publishedReportMs?: number;
  /** A notification in progress: after a crash the next replica creates the same one. */
  readonly pending?: NotificationRequest;
}

/** Online status now, with the data that it follows from. */
export interface CurrentStatus {
  readonly seenMs: number;
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly state: string;
  readonly stateSinceMs: number | null;
  readonly device: DeviceState | undefined;
  readonly location: LastLocation | undefined;
}

/** The session of a reporting terminal may be known shortly afterwards. */
const sessionTimeoutMs = 1_000;

const receivedMs = (location: LastLocation | undefined): number =>
  location === undefined ? 0 : lastReceivedMs(location);

/** Merges two checks of one terminal. */
export function mergeChecks(one: StatusCheck, other: StatusCheck): StatusCheck {
  const returnedMs = Math.max(one.returnedMs ?? 0, other.returnedMs ?? 0);
  return {
    trigger: triggers.indexOf(one.trigger) > triggers.indexOf(other.trigger) ? one.trigger : other.trigger,
    ...(returnedMs === 0 ? {} : { returnedMs }),
    ...(one.hasWaited === true || other.hasWaited === true ? { hasWaited: true } : {}),
  };
}

/** Returns the status of a terminal, or null if it was never seen. */
export function deriveStatus(
  { device, location }: Pick<CurrentStatus, 'device' | 'location'>,
  { lastSeenMs, nowMs, thresholds }: { lastSeenMs: number; nowMs: number; thresholds: VehicleThresholds },
): CurrentStatus | null {
  const seenMs = Math.max(device?.lastSeenMs ?? 0, receivedMs(location), lastSeenMs);
  if (seenMs === 0) return null;
  const live = deriveLiveState(device, location, nowMs, thresholds);
  const isOffline = nowMs - seenMs > thresholds.offlineAfterMs;
  return {
    seenMs,
    connected: live.device?.connected ?? false,
    isOffline,
    state: isOffline ? 'offline' : live.state,
    stateSinceMs: isOffline ? seenMs : live.stateSinceMs,
    device,
    location,
  };
}

/**
 * Returns how long a check waits for a related event: a returning terminal has a session first and a report shortly
 * afterwards, seldom the other way round.
 */
export function relatedEventDelayMs(
  { trigger, returnedMs, hasWaited }: StatusCheck,
  last: LastStatus | null,
  { device, location, isOffline }: CurrentStatus,
  firstReportTimeoutMs: number,
): number {
  if (hasWaited === true || isOffline) return 0;
  if (returnedMs !== undefined) return device === undefined && location?.source === 'jt808' ? sessionTimeoutMs : 0;
  const isBack = trigger === 'session' && device !== undefined && last?.isOffline !== false;
  const hasReported = location !== undefined && device !== undefined && receivedMs(location) >= device.onlineSinceMs;
  return isBack && !hasReported ? firstReportTimeoutMs : 0;
}

/** Returns true if the terminal has connected or disconnected, or has become offline or online. */
export const isStatusChanged = (last: LastStatus | null, current: CurrentStatus): boolean =>
  last === null || last.connected !== current.connected || last.isOffline !== current.isOffline;

/**
 * Returns the previous state if the change must be published, else null: not for the first report after start-up, nor
 * after a gap shorter than the offline threshold.
 */
export function previousStateToPublish(
  check: Pick<StatusCheck, 'trigger' | 'returnedMs'>,
  last: LastStatus | null,
  current: CurrentStatus,
  thresholds: VehicleThresholds,
): string | null {
  if (last === null) return 'never_connected';
  const isReturn = check.returnedMs !== undefined && (last.publishedReportMs ?? 0) < check.returnedMs;
  const isBack = last.isOffline || (current.connected && !last.connected);
  const isPublished = isReturn || (isStatusChanged(last, current) && (check.trigger !== 'report' || isBack));
  if (!isPublished) return null;
  if (last.isOffline) return 'offline';
  // Heartbeats without a position: the vehicle was standing.
  return isReturn ? 'stopped' : stateWhenSeen(current, thresholds);
}

/** Returns the state when the terminal was last seen. */
function stateWhenSeen({ location, seenMs }: CurrentStatus, thresholds: VehicleThresholds): string {
  const atMs = location === undefined ? seenMs : receivedMs(location);
  const { state } = deriveLiveState(undefined, location, atMs, thresholds);
  return state === 'never_connected' ? 'stopped' : state;
}

/** Returns the status to store. `isPublished` is true if the state of the newest report was published. */
export function toStoredStatus(
  last: LastStatus | null,
  { connected, isOffline, seenMs, location }: CurrentStatus,
  isPublished: boolean,
): LastStatus {
  const publishedReportMs = isPublished ? receivedMs(location) : last?.publishedReportMs;
  return { connected, isOffline, seenMs, ...(publishedReportMs === undefined ? {} : { publishedReportMs }) };
}

/** Returns `device_offline` or `device_online`; null if that has not changed. */
export function toOnlineEvent(last: LastStatus, current: CurrentStatus, offlineAfterMs: number): VehicleEvent | null {
  if (last.isOffline === current.isOffline) return null;
  const { device, seenMs } = current;
  const lastSeenMs = last.isOffline ? last.seenMs : seenMs;
  const attributes = { last_seen: new Date(lastSeenMs).toISOString() };
  // Dated by its last report, whichever replica notices it, and however late.
  if (current.isOffline) return { type: 'device_offline', subject: '', atMs: seenMs + offlineAfterMs, attributes };
  const onlineMs = device !== undefined && device.onlineSinceMs > last.seenMs ? device.onlineSinceMs : seenMs;
  return { type: 'device_online', subject: '', atMs: onlineMs, attributes };
}
