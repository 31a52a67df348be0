import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { callUseCase, deviceApi, streamStatusEvent } from '@fleet/bus';
import { AppError, validationError } from '@fleet/service-kit';
import { readStream } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import { findUsers } from '../users/use-cases.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { createPlaybackUrls } from '../video-access/stream-urls.ts';
import { callDevice, type RequestTrace, withDeadline } from './call-device.ts';
import type { ControlPlaybackBody, StartPlaybackBody } from './playback-schema.ts';
import {
  deletePlayback,
  type PlaybackId,
  type PlaybackRecord,
  readPlayback,
  readPositionMs,
  savePlayback,
} from './playback-store.ts';
import { toStreamEvent } from './responses.ts';
import type { PlaybackResponse } from './schema.ts';
import { requireCamera } from './use-cases.ts';

type PlaybackDeps = Pick<Deps, 'bus' | 'config' | 'log' | 'records' | 'redis' | 'streamTokens'>;

/** A recording that a camera plays. */
interface Playback {
  readonly vehicle: Vehicle;
  readonly id: PlaybackId;
  readonly record: PlaybackRecord;
}

/** 0x9202 controls (JT/T 1078-2016 table 25). */
const controls = { play: 0, stop: 2, fastForward: 3, seek: 5 } as const;
/** 0x9201 stream types: any, main, sub. */
const streamTypes = { any: 0, HIGH: 1, LOW: 2 } as const;
/** Speeds of 0x9202: 1 to 5 stand for 1 to 16 times. */
const toPace = (speed: number): number => 2 ** Math.max(0, speed - 1);
const longestMs = 24 * 3_600_000;
const endTimeoutMs = 5_000;
const pollIntervalMs = 50;

/** Returns the recording that a channel plays. Throws 404 without one. */
export async function getPlayback(
  deps: PlaybackDeps,
  caller: Caller,
  vehicleId: number,
  channel: number,
): Promise<PlaybackResponse> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'history_video');
  const id = { imei: requireCamera(vehicle, channel).imei, channel };
  const record = await findRunning(deps, id);
  if (record === null || record === 'unknown')
    throw new AppError('not_streaming', `Channel ${channel} of vehicle ${vehicleId} plays no recording.`);
  return toResponse(deps, caller, { vehicle, id, record });
}

/**
 * Starts a recording of a camera. A channel plays one recording: the same window is returned as it is. Another window
 * of the same user replaces it, and that of another user is 409 unless `takeover` is true.
 */
export async function startPlayback(
  deps: PlaybackDeps,
  caller: Caller,
  vehicleId: number,
  body: StartPlaybackBody,
  request: RequestTrace,
): Promise<PlaybackResponse> {
  const trace = withDeadline(request);
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'history_video');
  const channel = body.channel_id ?? 1;
  const { fromMs, toMs } = parseSpan(body);
  const id = { imei: requireCamera(vehicle, channel).imei, channel };
  await assertSubscriptions(deps, vehicle, [vehicle._id]);
  const running = await findRunning(deps, id);
  if (running !== null) {
    const isSame = running !== 'unknown' && running.fromMs === fromMs && running.toMs === toMs;
    if (isSame) return toResponse(deps, caller, { vehicle, id, record: running });
    const isOwn = running !== 'unknown' && running.startedBy === caller.userId;
    if (!isOwn && body.takeover !== true) throw await busyError(deps, caller, { vehicle, id }, running);
    await sendControl(deps, id, { control: controls.stop, speed: 0 }, trace);
    await deletePlayback(deps.redis, id);
    await waitForEnd(deps, id);
  }
  const streamType = streamTypes[body.stream_type ?? 'any'];
  await requestPlayback(deps, { ...id, fromMs, toMs, streamType, memoryType: body.memory_type ?? 0 }, trace);
  const record: PlaybackRecord = {
    playbackId: randomBytes(12).toString('hex'),
    vehicleId,
    accountId: vehicle.accountId,
    fromMs,
    toMs,
    streamType,
    startedBy: caller.userId,
    startedAtMs: Date.now(),
    pace: 1,
    anchorMs: fromMs,
    revision: 1,
  };
  await savePlayback(deps.redis, id, record);
  const detail = { channel_id: channel, from: body.from, to: body.to, takeover: running !== null };
  await audit(deps, caller, 'video.playback', { type: 'vehicles', id: vehicleId }, detail);
  return toResponse(deps, caller, { vehicle, id, record });
}

/** Pauses, continues, speeds up, seeks or stops the caller's recording. Throws 409 for that of another user. */
export async function controlPlayback(
  deps: PlaybackDeps,
  caller: Caller,
  vehicleId: number,
  body: ControlPlaybackBody,
  request: RequestTrace,
): Promise<PlaybackResponse> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'history_video');
  const channel = body.channel_id ?? 1;
  const id = { imei: requireCamera(vehicle, channel).imei, channel };
  const running = await findRunning(deps, id);
  if (running === null)
    throw new AppError('not_streaming', `Channel ${channel} of vehicle ${vehicleId} plays no recording.`);
  if (running === 'unknown' || running.startedBy !== caller.userId)
    throw await busyError(deps, caller, { vehicle, id }, running);
  const { playback_control: control, fast_forward_rewind_times: speed = 0 } = body;
  const seekMs = control === controls.seek ? parseSeek(body, running) : undefined;
  await sendControl(deps, id, { control, speed, seekMs }, withDeadline(request));
  const record = applyControl(running, control, speed, seekMs);
  if (control === controls.stop) await deletePlayback(deps.redis, id);
  else await savePlayback(deps.redis, id, record);
  const detail = { channel_id: channel, playback_control: control };
  await audit(deps, caller, 'video.playback_control', { type: 'vehicles', id: vehicleId }, detail);
  return toResponse(deps, caller, { vehicle, id, record });
}

function applyControl(
  record: PlaybackRecord,
  control: number,
  speed: number,
  seekMs: number | undefined,
): PlaybackRecord {
  if (control === controls.play) return { ...record, pace: 1 };
  if (control === controls.fastForward) return { ...record, pace: toPace(speed) };
  return seekMs === undefined ? record : { ...record, anchorMs: seekMs, revision: record.revision + 1 };
}

function parseSpan(body: StartPlaybackBody): { readonly fromMs: number; readonly toMs: number } {
  // Cameras count in whole seconds.
  const toSecond = (name: 'from' | 'to'): number =>
    Math.floor((parseTimestamp(body[name], name)?.getTime() ?? 0) / 1_000) * 1_000;
  const [fromMs, toMs] = [toSecond('from'), toSecond('to')];
  if (toMs <= fromMs) throw validationError([{ path: '/to', message: 'must be after from' }]);
  if (toMs - fromMs > longestMs)
    throw validationError([{ path: '/to', message: 'must be at most 24 hours after from' }]);
  return { fromMs, toMs };
}

function parseSeek({ drag_playback_time: text }: ControlPlaybackBody, { fromMs, toMs }: PlaybackRecord): number {
  const seekMs = parseTimestamp(text, 'drag_playback_time')?.getTime();
  if (seekMs === undefined || seekMs < fromMs || seekMs >= toMs)
    throw validationError([{ path: '/drag_playback_time', message: 'must be a time within the recording' }]);
  return Math.floor(seekMs / 1_000) * 1_000;
}

/** Returns the recording of a channel; `unknown` if a caller of the Device API started it, and null without one. */
async function findRunning({ redis }: PlaybackDeps, id: PlaybackId): Promise<PlaybackRecord | 'unknown' | null> {
  const { claim, request } = await readStream(redis, { kind: 'history', ...id });
  if (claim === null && request?.status !== 'acknowledged') return null;
  return (await readPlayback(redis, id)) ?? 'unknown';
}

/** Waits until the media service has ended a recording: the camera would go on with it otherwise. */
async function waitForEnd({ redis }: PlaybackDeps, id: PlaybackId): Promise<void> {
  const deadlineMs = performance.now() + endTimeoutMs;
  while (performance.now() < deadlineMs) {
    if ((await readStream(redis, { kind: 'history', ...id })).claim === null) return;
    await delay(pollIntervalMs);
  }
}

async function requestPlayback(
  { bus }: PlaybackDeps,
  {
    imei,
    channel,
    fromMs,
    toMs,
    streamType,
    memoryType,
  }: PlaybackId & {
    readonly fromMs: number;
    readonly toMs: number;
    readonly streamType: number;
    readonly memoryType: number;
  },
  trace: RequestTrace,
): Promise<void> {
  await callDevice((options) => callUseCase(bus, deviceApi.wakeUp, { imei }, options), trace);
  const start = { imei, channel, startMs: fromMs, endMs: toMs, resourceType: 0, streamType, memoryType };
  const { result } = await callDevice(
    (options) => callUseCase(bus, deviceApi.startPlayback, { ...start, playbackMode: 0, speed: 0 }, options),
    trace,
  );
  if (result !== 'success')
    throw new AppError('upstream_error', `The camera refused to play the recording on channel ${channel} (${result}).`);
}

async function sendControl(
  { bus }: PlaybackDeps,
  { imei, channel }: PlaybackId,
  {
    control,
    speed,
    seekMs,
  }: { readonly control: number; readonly speed: number; readonly seekMs?: number | undefined },
  trace: RequestTrace,
): Promise<void> {
  const seek = seekMs === undefined ? {} : { seekMs };
  const command = { imei, channel, control, speed, ...seek };
  const { result } = await callDevice(
    (options) => callUseCase(bus, deviceApi.controlPlayback, command, options),
    trace,
  );
  if (result !== 'success') throw new AppError('upstream_error', `The camera refused the control (${result}).`);
}

async function busyError(
  deps: PlaybackDeps,
  caller: Caller,
  { vehicle, id }: Pick<Playback, 'vehicle' | 'id'>,
  running: PlaybackRecord | 'unknown',
): Promise<AppError> {
  const name = running === 'unknown' ? null : await findStarterName(deps, caller, vehicle, running);
  const user = name ?? 'another user';
  return new AppError(
    'camera_busy',
    `Camera ${id.channel} plays a recording for ${user}. Take over with takeover=true, or watch along.`,
  );
}

/** Users of a share do not see names of the account. */
async function findStarterName(
  { records }: PlaybackDeps,
  caller: Caller,
  { accountId }: Vehicle,
  { startedBy }: PlaybackRecord,
): Promise<string | null> {
  if (caller.accountId !== accountId) return null;
  const [user] = await findUsers(records, { accountId }, [startedBy]);
  return user?.name ?? null;
}

async function toResponse(deps: PlaybackDeps, caller: Caller, playback: Playback): Promise<PlaybackResponse> {
  const { vehicle, id, record } = playback;
  const { claim } = await readStream(deps.redis, { kind: 'history', ...id });
  const status = claim === null ? 'connecting' : 'streaming';
  const { playback: _none, ...stream } = toStreamEvent(
    vehicle,
    streamStatusEvent(id, 'starting', record.streamType === 1 ? 0 : 1),
  );
  return {
    ...stream,
    status: claim === null ? 'starting' : 'streaming',
    phase: status,
    kind: 'history',
    ...createPlaybackUrls(deps, caller, id),
    ...toPlaybackFields(record, (await readPositionMs(deps.redis, id)) ?? record.anchorMs),
    started_at: new Date(record.startedAtMs).toISOString(),
    started_by_name: await findStarterName(deps, caller, vehicle, record),
  };
}

/** Returns the fields of a recording for responses and events. */
export const toPlaybackFields = ({ playbackId, fromMs, toMs, pace }: PlaybackRecord, positionMs: number) => ({
  playback_id: playbackId,
  from: new Date(fromMs).toISOString(),
  to: new Date(toMs).toISOString(),
  position: new Date(positionMs).toISOString(),
  pace,
});
