import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type DeviceCommand, type Outcome, publish, streamChanged, streamStatusEvent } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import {
  acknowledgeStream,
  cancelStreamRequest,
  countStreamingChannels,
  readStream,
  releaseStream,
  renewStreamRequest,
  reserveStream,
  type StreamId,
  type StreamRequest,
} from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import type { MediaAddress } from '../domain/media-address.ts';
import { type GeneralResponse, isAccepted, toGeneralResponse } from '../domain/outcome.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { readStreamOutcome, saveStreamOutcome } from '../store/stream-outcomes.ts';
import { isStreamRunning, waitForMediaServer } from './media-servers.ts';
import { abortOnShutdown, sendCommand, stateTimeoutMs } from './send-command.ts';
import { sendUntilStreaming } from './send-until-streaming.ts';

export type StartDeps = Pick<Deps, 'config' | 'commandClient' | 'bus' | 'redis' | 'stopped' | 'utcOffsets'>;

/** Parts that differ between the ways to start a stream. */
interface StreamStart {
  readonly id: StreamId;
  readonly address: MediaAddress;
  /** Data for the media service. */
  readonly requestedMedia: Pick<StreamRequest, 'dataType' | 'streamType' | 'pace' | 'returnsToSub'>;
  /** 0x9101 or 0x9201. */
  readonly command: DeviceCommand;
  /** Message id of the command in responses. */
  readonly responseId: string;
  /** Maps the outcome of the command to a terminal general response. */
  readonly mapOutcome?: (outcome: Outcome) => Outcome;
}

const pollIntervalMs = 100;
const renewIntervalMs = 2_000;

/**
 * Starts a stream: sends a command to its camera, unless the channel streams. A concurrent request waits for that
 * response and shares it.
 */
export async function startStream(
  deps: StartDeps,
  start: StreamStart,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { redis } = deps;
  const { id } = start;
  const { accountId, maxStreams } = await findQuota(deps, id, context);
  const alreadyStreaming: GeneralResponse = { responseId: start.responseId, result: 'success' };
  while (performance.now() < context.deadlineAtMs) {
    const request: StreamRequest = {
      ...start.requestedMedia,
      requestId: randomUUID(),
      status: 'asking',
      isForeign: start.address.isForeign,
      requestedAtMs: Date.now(),
      correlationId: context.correlationId,
      ...(accountId === null ? {} : { accountId }),
      ...toCameraTarget(start),
    };
    const reservation = await withStateTimeout(reserveStream(redis, id, request, maxStreams));
    if (reservation.state === 'full') throw accountQuotaError(maxStreams);
    if (reservation.state === 'streaming') {
      if (await isStreamRunning(deps.bus, id, reservation.claim)) return alreadyStreaming;
      const isReleased = await withStateTimeout(releaseStream(redis, id, reservation.claim.generation));
      // Its owner died without releasing it.
      if (isReleased && id.kind === 'live') publish(deps.bus, streamChanged, streamStatusEvent(id, 'stopped'));
      continue;
    }
    if (reservation.state === 'reserved')
      return (await requestStream(deps, start, request, context)) ?? alreadyStreaming;
    if (isStuck(reservation.request, start.address)) {
      await withStateTimeout(cancelStreamRequest(redis, id, reservation.request.requestId));
      continue;
    }
    if (reservation.request.status === 'acknowledged') return alreadyStreaming;
    const concurrentOutcome = await abortOnShutdown(
      deps.stopped,
      awaitConcurrentRequest(redis, id, reservation.request, context),
    );
    if (concurrentOutcome === 'streaming') return alreadyStreaming;
    if (concurrentOutcome !== null) return toGeneralResponse(concurrentOutcome);
  }
  return toGeneralResponse({ kind: 'timedOut' });
}

/** A stream that moves to another pod is usually there within a second. */
const moveMs = 5_000;

/** Checks whether a move has not brought the camera: the terminal was offline, or the media address has changed. */
function isStuck({ move, address, requestedAtMs }: StreamRequest, { server, tcpPort, udpPort }: MediaAddress): boolean {
  if (move === undefined) return false;
  const isSameAddress = address?.server === server && address.tcpPort === tcpPort && address.udpPort === udpPort;
  return !isSameAddress || Date.now() - requestedAtMs > moveMs;
}

/**
 * Returns the account whose streams are counted, and their limit. Talk counts as no stream. Without platform-api no
 * start is rejected.
 */
async function findQuota(
  { config, utcOffsets }: StartDeps,
  { kind, imei }: StreamId,
  context: CommandContext,
): Promise<{ readonly accountId: number | null; readonly maxStreams: number }> {
  const defaultMaxStreams = config.MAX_STREAMS_PER_ACCOUNT;
  if (kind === 'talk') return { accountId: null, maxStreams: defaultMaxStreams };
  try {
    const { accountId, maxStreams = defaultMaxStreams } = await utcOffsets.fetchRecord(imei, context);
    return { accountId, maxStreams };
  } catch (error) {
    context.log.warn({ err: error }, 'could not count the streams of an account');
    return { accountId: null, maxStreams: defaultMaxStreams };
  }
}

/** Returns the address with which another media pod can request live video again. */
function toCameraTarget({ id, address }: StreamStart): Pick<StreamRequest, 'address'> {
  const { server, tcpPort, udpPort, isForeign } = address;
  return id.kind === 'live' && !isForeign ? { address: { server, tcpPort, udpPort } } : {};
}

const accountQuotaError = (maxStreams: number): AppError =>
  new AppError('quota_exceeded', `The account already has ${maxStreams} streams. Stop one, or retry later.`, {
    headers: { 'Retry-After': '60' },
  });

/**
 * Throws `unavailable` if the read fails or times out. Streams are found by their state in Redis: without it none can
 * be started.
 */
export async function withStateTimeout<T>(read: Promise<T>): Promise<T> {
  try {
    return await withTimeout(stateTimeoutMs, read);
  } catch (cause) {
    throw new AppError('unavailable', 'The state of the stream cannot be read at the moment. Retry.', { cause });
  }
}

/** Sends the command; returns undefined if the camera does not respond and streams all the same. */
async function requestStream(
  deps: StartDeps,
  start: StreamStart,
  request: StreamRequest,
  context: CommandContext,
): Promise<GeneralResponse | undefined> {
  const { config, redis } = deps;
  const { id } = start;
  let outcome: Outcome | 'streaming' | undefined;
  try {
    if ((await withStateTimeout(countStreamingChannels(redis, id.imei))) > config.RATE_LIMIT_CHANNELS_PER_DEVICE)
      throw new AppError(
        'quota_exceeded',
        `The device already streams on ${config.RATE_LIMIT_CHANNELS_PER_DEVICE} channels.`,
        { headers: { 'Retry-After': '60' } },
      );
    if (!start.address.isForeign) await abortOnShutdown(deps.stopped, waitForMediaServer(deps.bus));
    outcome = await sendWithRenewal(deps, start, request, context);
    if (outcome === 'streaming') return undefined;
    // False if the camera connected before its response: the stream is running.
    const isExpected = isAccepted(outcome) && (await withStateTimeout(acknowledgeStream(redis, id, request.requestId)));
    if (isExpected && id.kind === 'live' && !request.isForeign)
      publish(deps.bus, streamChanged, {
        ...streamStatusEvent(id, 'starting', request.streamType),
        startId: request.requestId,
      });
  } finally {
    if (outcome === undefined || (outcome !== 'streaming' && !isAccepted(outcome)))
      await cancelRequest(redis, id, request.requestId, outcome, context);
  }
  // Without a response only the stream itself counts.
  if (outcome.kind !== 'answered' && (await withStateTimeout(readStream(redis, id))).claim !== null) return undefined;
  return toGeneralResponse(outcome);
}

/** Sends the command, and renews the request until the outcome; returns `streaming` if the stream comes without one. */
async function sendWithRenewal(
  deps: StartDeps,
  start: StreamStart,
  request: StreamRequest,
  context: CommandContext,
): Promise<Outcome | 'streaming'> {
  const { id } = start;
  const renewal = setInterval(() => {
    renewStreamRequest(deps.redis, id, request.requestId).catch((error: unknown) =>
      context.log.warn({ err: error }, 'could not renew a stream request'),
    );
  }, renewIntervalMs);
  const outcome = sendStartCommand(deps, start, context);
  try {
    // The packets of a stream to another media server do not arrive here.
    if (request.isForeign) return await outcome;
    return await sendUntilStreaming(outcome, { isStreaming: () => isRequestStreaming(deps, id, request, context) });
  } finally {
    clearInterval(renewal);
  }
}

async function sendStartCommand(
  deps: StartDeps,
  { id, command, mapOutcome }: StreamStart,
  context: CommandContext,
): Promise<Outcome> {
  const outcome = await sendCommand(deps, id.imei, command, context);
  return mapOutcome?.(outcome) ?? outcome;
}

/** Returns whether the camera has connected for a request. */
async function isRequestStreaming(
  { redis }: StartDeps,
  id: StreamId,
  { requestId }: StreamRequest,
  { log }: CommandContext,
): Promise<boolean> {
  try {
    return (await withTimeout(stateTimeoutMs, readStream(redis, id))).claim?.request?.requestId === requestId;
  } catch (error) {
    // The response of the camera decides then.
    log.debug({ err: error }, 'could not read the state of a stream');
    return false;
  }
}

/** Cancels a request that the camera did not accept, and saves its outcome for waiting callers. */
async function cancelRequest(
  redis: Deps['redis'],
  id: StreamId,
  requestId: string,
  outcome: Outcome | undefined,
  context: CommandContext,
): Promise<void> {
  try {
    if (outcome !== undefined) await withTimeout(stateTimeoutMs, saveStreamOutcome(redis, requestId, outcome));
    await withTimeout(stateTimeoutMs, cancelStreamRequest(redis, id, requestId));
  } catch (error) {
    // It expires by itself.
    context.log.warn({ err: error }, 'could not cancel a stream request');
  }
}

/** Waits for the outcome of another request; returns null if that request ended without one (its process died). */
async function awaitConcurrentRequest(
  redis: Deps['redis'],
  id: StreamId,
  concurrent: StreamRequest,
  context: CommandContext,
): Promise<Outcome | 'streaming' | null> {
  while (performance.now() < context.deadlineAtMs) {
    await delay(pollIntervalMs);
    const { claim, request } = await withStateTimeout(readStream(redis, id));
    if (claim !== null || request?.status === 'acknowledged') return 'streaming';
    if (request?.requestId === concurrent.requestId) continue;
    return withStateTimeout(readStreamOutcome(redis, concurrent.requestId));
  }
  return { kind: 'timedOut' };
}
