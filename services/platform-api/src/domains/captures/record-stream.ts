import { setTimeout as delay } from 'node:timers/promises';
import { BusError, callIdempotentUseCase, deviceApi, type LiveRecording, recordLive } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { callDevice, type RequestTrace } from '../dashcam/call-device.ts';
import { readStreamState } from '../dashcam/stream-state.ts';
import { pictureFormat } from './rules.ts';
import type { Capture } from './schema.ts';

/** Dependencies of recording live video. */
export type RecordStreamDeps = Pick<Deps, 'bus' | 'log' | 'redis'>;

/** Time for the first packet of the camera, the program, and storing the file. */
const recordingOverheadMs = 30_000;
/** 0x9101 data types, and 0x9102 with the control that closes a stream. */
const videoOnly = 1;
const audioAndVideo = 0;
const closeStream = { control: 0, closeType: 0, streamType: 0 } as const;

/** Time in which the media service notices that the recording has ended. */
const viewerLeaveTimeoutMs = 1_000;
const viewerPollIntervalMs = 100;

const mainStream = 0;
const subStream = 1;

/** Returns the longest time of `recordStream` without the start of the stream. */
const recordingTimeoutMs = ({ durationSeconds }: Pick<Capture, 'durationSeconds'>): number =>
  durationSeconds * 1000 + recordingOverheadMs;

/**
 * Records one frame, or a clip, of live video. Starts the stream if it does not run, and stops it afterwards unless
 * others watch it. Throws if there is no live video.
 */
export async function recordStream(deps: RecordStreamDeps, capture: Capture, trace: RequestTrace): Promise<void> {
  const isRunning = (await readStreamState(deps, capture.imei, capture.channelId)) !== null;
  try {
    if (isRunning) await record(deps, capture, trace);
    else await recordStartedStream(deps, capture, trace);
  } catch (error) {
    // Its last viewer has stopped it, or the media service was restarted.
    if (!isEndOfStream(error)) throw error;
    await recordStartedStream(deps, capture, trace).catch((again: unknown) => {
      throw isEndOfStream(again) ? new AppError('upstream_error', again.message, { cause: again }) : again;
    });
  }
}

async function recordStartedStream(deps: RecordStreamDeps, capture: Capture, trace: RequestTrace): Promise<void> {
  await startStream(deps, capture, trace);
  try {
    await record(deps, capture, trace);
  } finally {
    await stopIfUnwatched(deps, capture, trace);
  }
}

const isEndOfStream = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'not_streaming';

async function startStream(
  { bus }: RecordStreamDeps,
  { imei, channelId, kind, quality, hasAudio }: Capture,
  trace: RequestTrace,
): Promise<void> {
  const request = {
    imei,
    channel: channelId,
    dataType: kind === 'clip' && hasAudio ? audioAndVideo : videoOnly,
    streamType: quality === 'LOW' ? subStream : mainStream,
  };
  const { result } = await callDevice(
    (options) => callIdempotentUseCase(bus, deviceApi.startLive, request, { ...options, isServiceAwaited: true }),
    trace,
  );
  if (result !== 'success')
    throw new AppError('upstream_error', `The camera refused to stream on channel ${channelId} (${result}).`);
}

async function record({ bus }: RecordStreamDeps, capture: Capture, { correlationId }: RequestTrace): Promise<void> {
  const { captureId, imei, channelId: channel, kind, quality, durationSeconds, hasAudio } = capture;
  const request: LiveRecording = {
    captureId,
    imei,
    channel,
    kind: kind === 'clip' ? 'video' : 'image',
    box: pictureFormat(quality, '2013').box,
    durationSeconds,
    hasAudio,
  };
  try {
    const timeoutMs = recordingTimeoutMs(capture);
    await callIdempotentUseCase(bus, recordLive, request, { timeoutMs, correlationId, isServiceAwaited: true });
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('upstream_error', 'The live video could not be recorded.', { cause });
  }
}

/** Returns true for a stream without viewers. The media service may notice the end of the recording a little later. */
async function isUnwatched(deps: RecordStreamDeps, imei: string, channel: number): Promise<boolean> {
  const deadlineMs = performance.now() + viewerLeaveTimeoutMs;
  for (;;) {
    const state = await readStreamState(deps, imei, channel);
    if (state === null) return false;
    if (state.viewers === 0) return true;
    if (state.viewers > 1 || performance.now() >= deadlineMs) return false;
    await delay(viewerPollIntervalMs);
  }
}

async function stopIfUnwatched(
  deps: RecordStreamDeps,
  { imei, channelId: channel }: Capture,
  trace: RequestTrace,
): Promise<void> {
  try {
    if (!(await isUnwatched(deps, imei, channel))) return;
    const request = { imei, channel, ...closeStream };
    await callDevice((options) => callIdempotentUseCase(deps.bus, deviceApi.controlLive, request, options), trace);
  } catch (error) {
    // The media service stops a stream without viewers after a minute.
    deps.log.info({ err: error, imei, channel }, 'could not stop the stream of a capture');
  }
}
