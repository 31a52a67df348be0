import { callIdempotentUseCase, deviceApi, type StreamChanged, streamStatusEvent } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { countViewersBySubject } from '@fleet/storage';
import type { Static } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type VisibleVehicle, visibleVehicle } from '../vehicles/visibility.ts';
import { callDevice, type RequestTrace, withDeadline } from './call-device.ts';
import type { GetStreamQuery, StartStreamBody, StopStreamBody, StreamType } from './schema.ts';
import { StartPhases } from './start-phases.ts';
import { readStreamState } from './stream-state.ts';

/** Dependencies of streams. */
type DashcamDeps = Pick<Deps, 'bus' | 'config' | 'log' | 'records' | 'redis'>;

/** A stream of a vehicle. */
export interface VehicleStream {
  readonly vehicle: Vehicle;
  readonly imei: string;
  readonly state: StreamChanged;
  /** True if the caller chose the main stream. */
  readonly isMainStream?: boolean;
  /** Whether the caller may talk to the driver. */
  readonly mayTalk: boolean;
}

const mayTalk = ({ permissions }: VisibleVehicle): boolean => permissions.includes('commands');

const defaultChannel = 1;

const videoDataType = 1;
const audioAndVideoDataType = 0;
/** 0x9102 control 0 closes a stream; close type 0 closes audio and video. */
const closeControl = 0;
const closeAll = 0;

const mainStreamType = 0;
const subStreamType = 1;

const toStreamType = (type: string | undefined): number =>
  type?.toUpperCase() === ('HIGH' satisfies StreamType) ? mainStreamType : subStreamType;

/** Starts live video of a vehicle's camera; returns the running stream if the channel already streams. */
export async function startStream(
  deps: DashcamDeps,
  caller: Caller,
  vehicleId: number,
  body: StartStreamBody,
  request: RequestTrace,
): Promise<VehicleStream> {
  const trace = withDeadline(request);
  const visible = await visibleVehicle(deps, caller, vehicleId, 'live_video');
  const { vehicle } = visible;
  const channel = body.channel_id ?? defaultChannel;
  const camera = requireCamera(vehicle, channel);
  await assertSubscriptions(deps, vehicle, [vehicle._id]);
  const streamType = toStreamType(body.stream_type);
  const isNew = (await readStreamState(deps, camera.imei, channel)) === null;
  const phases = new StartPhases(deps, { vehicle, imei: camera.imei, channel, streamType }, { isNew });
  const hasAudio = body.audio !== false && camera.hasAudio;
  // Only a type that the caller names switches a running stream.
  const switchedBy = body.stream_type === undefined ? {} : { switchedBy: `user:${caller.userId}` };
  const dataType = hasAudio ? audioAndVideoDataType : videoDataType;
  const start = { imei: camera.imei, channel, dataType, streamType, ...switchedBy };
  try {
    await requestStream(deps, start, { isWoken: body.wake !== false, phases, trace });
  } catch (error) {
    phases.publishFailure(error);
    throw error;
  }
  await audit(deps, caller, 'video.start', { type: 'vehicles', id: vehicleId }, { channel_id: channel });
  const state = await readStreamState(deps, camera.imei, channel);
  return {
    vehicle,
    imei: camera.imei,
    mayTalk: mayTalk(visible),
    state: state ?? streamStatusEvent({ imei: camera.imei, channel }, 'starting', streamType),
    isMainStream: streamType === mainStreamType,
  };
}

/** Wakes the device if wanted, and requests the stream. Publishes the phases of the start. */
async function requestStream(
  { bus }: DashcamDeps,
  start: Static<typeof deviceApi.startLive.request>,
  { isWoken, phases, trace }: { readonly isWoken: boolean; readonly phases: StartPhases; readonly trace: RequestTrace },
): Promise<void> {
  const { imei, channel } = start;
  if (isWoken) {
    phases.publish('waking');
    await callDevice((options) => callIdempotentUseCase(bus, deviceApi.wakeUp, { imei }, options), trace);
  }
  phases.publish('requested');
  const { result } = await callDevice(
    (options) => callIdempotentUseCase(bus, deviceApi.startLive, start, options),
    trace,
  );
  if (result !== 'success')
    throw new AppError('upstream_error', `The camera refused to stream on channel ${channel} (${result}).`);
}

/**
 * Returns the stream of a channel; starts it, or switches it to a named type, unless the caller does not want that.
 * Throws 404 if it does not stream.
 */
export async function getStream(
  deps: DashcamDeps,
  caller: Caller,
  vehicleId: number,
  query: GetStreamQuery,
  trace: RequestTrace,
): Promise<VehicleStream> {
  const visible = await visibleVehicle(deps, caller, vehicleId, 'live_video');
  const { vehicle } = visible;
  const channel = query.channel_id ?? defaultChannel;
  const { imei } = requireCamera(vehicle, channel);
  const state = await readStreamState(deps, imei, channel);
  const { stream_type: streamType, auto_start: isStarted = true } = query;
  const isSwitched = isStarted && streamType !== undefined;
  if (state !== null && !isSwitched) return { vehicle, imei, state, mayTalk: mayTalk(visible) };
  if (!isStarted) throw new AppError('not_streaming', `Channel ${channel} of vehicle ${vehicleId} is not streaming.`);
  const body = {
    channel_id: channel,
    ...(streamType === undefined ? {} : { stream_type: streamType }),
    // A device that streams is awake.
    ...(state === null ? {} : { wake: false }),
  };
  return startStream(deps, caller, vehicleId, body, trace);
}

/**
 * Stops live video of one channel or of all. A stream that others watch continues, unless it is stopped by force.
 * Returns the streams, stopped or not; throws 404 if a given channel does not stream.
 */
export async function stopStreams(
  deps: DashcamDeps,
  caller: Caller,
  vehicleId: number,
  { channel_id: channel, force = false }: StopStreamBody,
  trace: RequestTrace,
): Promise<VehicleStream[]> {
  const visible = await visibleVehicle(deps, caller, vehicleId, 'live_video');
  if (force) assertMayForce(visible);
  const { vehicle } = visible;
  const imei = requireImei(vehicle);
  const withinDeadline = withDeadline(trace);
  const channels = channel === undefined ? cameraChannels(vehicle) : [channel];
  const streams: VehicleStream[] = [];
  for (const each of channels) {
    const state = await readStreamState(deps, imei, each);
    if (state === null) continue;
    const isContinued = !force && (await isWatchedByOthers(deps, caller, state));
    const ended = isContinued ? state : await stopStream(deps, state, withinDeadline);
    streams.push({ vehicle, imei, mayTalk: mayTalk(visible), state: ended });
  }
  if (streams.length === 0 && channel !== undefined)
    throw new AppError('not_streaming', `Channel ${channel} of vehicle ${vehicleId} is not streaming.`);
  const stopped = streams.filter(({ state }) => state.status === 'stopped').map(({ state }) => state.channel);
  if (stopped.length > 0)
    await audit(deps, caller, 'video.stop', { type: 'vehicles', id: vehicleId }, { channel_ids: stopped, force });
  return streams;
}

/**
 * Returns whether anyone but the caller watches a stream: another subject, or a viewer of the media pod that device-api
 * does not count, such as a recording.
 */
async function isWatchedByOthers(
  { redis }: DashcamDeps,
  { userId }: Caller,
  { imei, channel, viewers }: StreamChanged,
): Promise<boolean> {
  const counts = await countViewersBySubject(redis, { kind: 'live', imei, channel });
  const subject = String(userId);
  if ([...counts.keys()].some((each) => each !== subject)) return true;
  // The media pod notices later than device-api that a viewer has left.
  return viewers > Math.max(1, counts.get(subject) ?? 0);
}

/** Stops a stream. Returns its state afterwards. */
async function stopStream({ bus }: DashcamDeps, state: StreamChanged, trace: RequestTrace): Promise<StreamChanged> {
  const { imei, channel } = state;
  const command = { imei, channel, control: closeControl, closeType: closeAll, streamType: 0 };
  const { result } = await callDevice(
    (options) => callIdempotentUseCase(bus, deviceApi.controlLive, command, options),
    trace,
  );
  if (result !== 'success')
    throw new AppError('upstream_error', `The camera refused to stop channel ${channel} (${result}).`);
  return { ...streamStatusEvent({ imei, channel }, 'stopped', state.streamType), startedAtMs: state.startedAtMs };
}

function assertMayForce({ vehicle, permissions }: VisibleVehicle): void {
  if (permissions.includes('commands')) return;
  throw new AppError('permission_denied', `Vehicle ${vehicle._id} is visible, but the permission commands is missing.`);
}

/** Returns the channels that a stream may run on: the recorded cameras, or the usual ones if none are recorded. */
const cameraChannels = ({ channels }: Vehicle): number[] =>
  channels.length > 0
    ? channels.map(({ channelId }) => channelId)
    : Array.from({ length: 16 }, (_unused, index) => index + 1);

function requireImei({ _id, imei }: Vehicle): string {
  if (imei !== null) return imei;
  throw new AppError('device_not_connected', `Vehicle ${_id} has no terminal.`);
}

/** Returns the terminal and the sound of a channel; throws 404 for a camera that is disabled. */
export function requireCamera(
  vehicle: Vehicle,
  channel: number,
): { readonly imei: string; readonly hasAudio: boolean } {
  const imei = requireImei(vehicle);
  const camera = vehicle.channels.find(({ channelId }) => channelId === channel);
  if (camera?.enabled === false)
    throw new AppError('not_found', `Camera ${channel} of vehicle ${vehicle._id} is disabled.`);
  return { imei, hasAudio: camera?.hasAudio ?? true };
}
