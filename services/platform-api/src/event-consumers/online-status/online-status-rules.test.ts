import { describe, expect, it } from '@jest/globals';
import { lastLocationAt } from '../../testing/last-location.ts';
import { defaultThresholds } from '../../testing/thresholds.ts';
import {
  type CurrentStatus,
  deriveStatus,
  type LastStatus,
  mergeChecks,
  previousStateToPublish,
  relatedEventDelayMs,
  toOnlineEvent,
  toStoredStatus,
} from './online-status-rules.ts';

const minuteMs = 60_000;
const nowMs = Date.parse('2026-11-22T10:00:00Z');
const { offlineAfterMs } = defaultThresholds;
const imei = '138000000001';

const reportedAt = (ms: number, speed = 0) => ({
  ...lastLocationAt(imei, 22.5, 114),
  timestamp: ms,
  serverTimestamp: ms,
  slowSinceMs: ms,
  speed,
});
const sessionSince = (ms: number) =>
  ({ phone: imei, edition: '2013', onlineSinceMs: ms, lastSeenMs: nowMs }) as NonNullable<CurrentStatus['device']>;

const last = (more: Partial<LastStatus> = {}): LastStatus => ({
  connected: true,
  isOffline: false,
  seenMs: nowMs - minuteMs,
  ...more,
});
const current = (more: Partial<CurrentStatus> = {}): CurrentStatus => ({
  connected: true,
  isOffline: false,
  seenMs: nowMs,
  state: 'stopped',
  stateSinceMs: null,
  device: sessionSince(nowMs - minuteMs),
  location: reportedAt(nowMs),
  ...more,
});

describe('merging two checks of a terminal', () => {
  it('keeps the stronger reason, the later return and the end of the wait', () => {
    const merged = mergeChecks({ trigger: 'session', returnedMs: 5 }, { trigger: 'report', returnedMs: 7 });
    expect(merged).toEqual({ trigger: 'session', returnedMs: 7 });
    expect(mergeChecks({ trigger: 'report' }, { trigger: 'time', hasWaited: true })).toEqual({
      trigger: 'time',
      hasWaited: true,
    });
  });
});

describe('the derived status', () => {
  const derive = (data: Pick<CurrentStatus, 'device' | 'location'>, lastSeenMs = 0) =>
    deriveStatus(data, { lastSeenMs, nowMs, thresholds: defaultThresholds });

  it('is null for a terminal that was never seen', () => {
    expect(derive({ device: undefined, location: undefined })).toBeNull();
  });

  it('is offline after more than the threshold without a report, a session or an earlier contact', () => {
    const silent = { device: undefined, location: reportedAt(nowMs - offlineAfterMs - 1) };
    expect(derive(silent)).toMatchObject({ isOffline: true, state: 'offline', connected: false });
    expect(derive({ ...silent, location: reportedAt(nowMs - offlineAfterMs) })).toMatchObject({ isOffline: false });
    expect(derive(silent, nowMs - minuteMs)).toMatchObject({ isOffline: false, seenMs: nowMs - minuteMs });
    expect(derive({ ...silent, device: sessionSince(nowMs) })).toMatchObject({ isOffline: false, connected: true });
  });
});

describe('the wait for a related event', () => {
  const firstReportTimeoutMs = 3_000;
  const delayOf = (check: Parameters<typeof relatedEventDelayMs>[0], before: LastStatus | null, now: CurrentStatus) =>
    relatedEventDelayMs(check, before, now, firstReportTimeoutMs);
  const unreported = current({ location: reportedAt(nowMs - 60 * minuteMs) });

  it('is for the first report after the session of a terminal that was offline or is new', () => {
    expect(delayOf({ trigger: 'session' }, last({ isOffline: true }), unreported)).toBe(firstReportTimeoutMs);
    expect(delayOf({ trigger: 'session' }, null, current({ location: undefined }))).toBe(firstReportTimeoutMs);
  });

  it('is for the session after the first report of a JT/T 808 terminal', () => {
    const report = { trigger: 'report', returnedMs: nowMs } as const;
    expect(delayOf(report, last({ isOffline: true }), current({ device: undefined }))).toBe(1_000);
    const fromPartner = { ...reportedAt(nowMs), source: 'partner' as const };
    expect(delayOf(report, last(), current({ device: undefined, location: fromPartner }))).toBe(0);
    expect(delayOf(report, last(), current())).toBe(0);
  });

  it('is zero for a short gap, a report that has arrived, an offline terminal, and after a wait', () => {
    expect(delayOf({ trigger: 'session' }, last(), unreported)).toBe(0);
    expect(delayOf({ trigger: 'session' }, last({ isOffline: true }), current())).toBe(0);
    expect(delayOf({ trigger: 'session' }, last({ isOffline: true }), current({ isOffline: true }))).toBe(0);
    expect(delayOf({ trigger: 'session', hasWaited: true }, last({ isOffline: true }), unreported)).toBe(0);
  });
});

describe('the previous state to publish', () => {
  const previousState = (
    check: Parameters<typeof previousStateToPublish>[0],
    before: LastStatus | null,
    now: CurrentStatus,
  ) => previousStateToPublish(check, before, now, defaultThresholds);

  it('is never_connected for a new terminal, and offline for one that was offline', () => {
    expect(previousState({ trigger: 'report' }, null, current())).toBe('never_connected');
    expect(previousState({ trigger: 'report' }, last({ isOffline: true }), current())).toBe('offline');
  });

  it('is the state of the last report for a terminal that disconnects', () => {
    const moving = current({ connected: false, location: reportedAt(nowMs - minuteMs, 50) });
    expect(previousState({ trigger: 'session' }, last(), moving)).toBe('moving');
    expect(previousState({ trigger: 'session' }, last(), { ...moving, location: undefined })).toBe('stopped');
  });

  it('is stopped for a report that ends a silence with heartbeats, once', () => {
    const check = { trigger: 'report', returnedMs: nowMs } as const;
    expect(previousState(check, last(), current())).toBe('stopped');
    expect(previousState(check, last({ publishedReportMs: nowMs }), current())).toBeNull();
  });

  it('is null without a change, and for a report after which the terminal has disconnected', () => {
    expect(previousState({ trigger: 'time' }, last(), current())).toBeNull();
    expect(previousState({ trigger: 'report' }, last(), current({ connected: false }))).toBeNull();
  });
});

describe('the stored status', () => {
  it('remembers the report whose state was published, without an ended notification', () => {
    const before = last({ publishedReportMs: 5, pending: {} as NonNullable<LastStatus['pending']> });
    const status = { connected: true, isOffline: false, seenMs: nowMs };
    expect(toStoredStatus(before, current(), true)).toEqual({ ...status, publishedReportMs: nowMs });
    expect(toStoredStatus(before, current(), false)).toEqual({ ...status, publishedReportMs: 5 });
    expect(toStoredStatus(null, current(), false)).toEqual(status);
  });
});

describe('the event of a changed status', () => {
  it('is dated by the threshold after the last contact of an offline terminal', () => {
    const seenMs = nowMs - 25 * minuteMs;
    expect(toOnlineEvent(last(), current({ isOffline: true, seenMs }), offlineAfterMs)).toMatchObject({
      type: 'device_offline',
      atMs: seenMs + offlineAfterMs,
      attributes: { last_seen: new Date(seenMs).toISOString() },
    });
  });

  it('is dated by the new session, else by the first contact, of a terminal that returns', () => {
    const before = last({ isOffline: true, seenMs: nowMs - 60 * minuteMs });
    const attributes = { last_seen: new Date(before.seenMs).toISOString() };
    const online = { type: 'device_online', attributes };
    expect(toOnlineEvent(before, current(), offlineAfterMs)).toMatchObject({ ...online, atMs: nowMs - minuteMs });
    const withoutSession = current({ device: undefined });
    expect(toOnlineEvent(before, withoutSession, offlineAfterMs)).toMatchObject({ ...online, atMs: nowMs });
  });

  it('is null if only the connection has changed', () => {
    expect(toOnlineEvent(last(), current({ connected: false }), offlineAfterMs)).toBeNull();
  });
});
