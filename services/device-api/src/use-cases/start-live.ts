import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Outcome } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import {
  acknowledgeStream,
  countStreamingChannels,
  dropStreamRequest,
  keepStreamRequest,
  readStream,
  releaseStream,
  reserveStream,
  type StreamId,
  type StreamRequest,
} from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { type MediaAddress, type MediaAddressWish, mediaAddress } from '../domain/media-address.ts';
import { type GeneralAnswer, generalAnswerOf, isAccepted } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { keepStreamOutcome, readStreamOutcome } from '../store/stream-outcomes.ts';
import { askDevice, stateLimitMs, unlessStopped } from './ask-device.ts';
import { isRunning, waitForMediaTier } from './media-tier.ts';

export interface StartLive extends MediaAddressWish {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  readonly dataType: number;
  readonly streamType: number;
}

type StartDeps = Pick<Deps, 'config' | 'asker' | 'bus' | 'redis' | 'stopped'>;

/** Request to start live video, JT/T 1078 0x9101. */
const alreadyStreaming: GeneralAnswer = { responseId: '0x9101', result: 'success' };
const pollEveryMs = 100;
const renewEveryMs = 3_000;

/**
 * Brings a channel to stream live: asks its camera, unless the channel streams already; a request that comes while the camera is being asked waits for
 * that answer and shares it.
 */
export async function startLive(deps: StartDeps, wanted: StartLive, context: CommandContext): Promise<GeneralAnswer> {
  const { config, redis } = deps;
  const address = mediaAddress(wanted, {
    host: config.MEDIA_PUBLIC_HOST,
    port: config.MEDIA_LIVE_PORT,
    allowlist: config.DEVICE_HOST_ALLOWLIST,
  });
  const id: StreamId = { kind: 'live', imei: wanted.imei, channel: wanted.channel };
  while (performance.now() < context.deadlineAtMs) {
    const request: StreamRequest = {
      requestId: randomUUID(),
      status: 'asking',
      dataType: wanted.dataType,
      streamType: wanted.streamType,
      isForeign: address.isForeign,
      requestedAtMs: Date.now(),
      correlationId: context.correlationId,
    };
    const reserved = await state(reserveStream(redis, id, request));
    if (reserved.state === 'streaming') {
      if (await isRunning(deps.bus, id, reserved.claim)) return alreadyStreaming;
      await state(releaseStream(redis, id, reserved.claim.generation));
      continue;
    }
    if (reserved.state === 'reserved') return ask(deps, id, request, address, context);
    if (reserved.request.status === 'acknowledged') return alreadyStreaming;
    const shared = await unlessStopped(deps.stopped, answerOfOther(redis, id, reserved.request, context));
    if (shared !== undefined) return shared;
  }
  return generalAnswerOf({ kind: 'timedOut' });
}

/** State in Redis is what streams are found by: without it nothing may be started. */
async function state<T>(read: Promise<T>): Promise<T> {
  try {
    return await within(stateLimitMs, read);
  } catch (cause) {
    throw new AppError('unavailable', 'The state of the stream can not be read at the moment.', { cause });
  }
}

async function ask(
  deps: StartDeps,
  id: StreamId,
  request: StreamRequest,
  address: MediaAddress,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { config, redis } = deps;
  let outcome: Outcome | undefined;
  try {
    if ((await state(countStreamingChannels(redis, id.imei))) > config.RATE_LIMIT_CHANNELS_PER_DEVICE)
      throw new AppError(
        'quota_exceeded',
        `The device streams on ${config.RATE_LIMIT_CHANNELS_PER_DEVICE} channels already.`,
        { headers: { 'Retry-After': '60' } },
      );
    if (!address.isForeign) await unlessStopped(deps.stopped, waitForMediaTier(deps.bus));
    outcome = await askRenewing(deps, id, request, address, context);
    // False when the camera was faster than its answer and has connected: the stream runs, nothing is left to do.
    if (isAccepted(outcome)) await state(acknowledgeStream(redis, id, request.requestId));
  } finally {
    if (outcome === undefined || !isAccepted(outcome)) await forget(redis, id, request.requestId, outcome, context);
  }
  // Without an answer, what counts is whether the camera streams.
  if (outcome.kind !== 'answered' && (await state(readStream(redis, id))).claim !== null) return alreadyStreaming;
  return generalAnswerOf(outcome);
}

/** Asks the camera, and meanwhile keeps the request from expiring. */
async function askRenewing(
  deps: StartDeps,
  id: StreamId,
  request: StreamRequest,
  address: MediaAddress,
  context: CommandContext,
): Promise<Outcome> {
  const renewal = setInterval(() => {
    keepStreamRequest(deps.redis, id, request.requestId).catch((error: unknown) =>
      context.log.warn({ err: error }, 'a stream request could not be renewed'),
    );
  }, renewEveryMs);
  try {
    const { server, tcpPort, udpPort } = address;
    const { dataType, streamType } = request;
    return await askDevice(
      deps,
      id.imei,
      { kind: 'startLive', server, tcpPort, udpPort, channel: id.channel, dataType, streamType },
      context,
    );
  } finally {
    clearInterval(renewal);
  }
}

/** Takes a request back whose camera did not agree; those who waited for it learn how it ended. */
async function forget(
  redis: Deps['redis'],
  id: StreamId,
  requestId: string,
  outcome: Outcome | undefined,
  context: CommandContext,
): Promise<void> {
  try {
    if (outcome !== undefined) await within(stateLimitMs, keepStreamOutcome(redis, requestId, outcome));
    await within(stateLimitMs, dropStreamRequest(redis, id, requestId));
  } catch (error) {
    // It expires by itself.
    context.log.warn({ err: error }, 'a stream request could not be taken back');
  }
}

/** Waits for the camera's answer to another request; undefined when that request is gone without one (its process died): ask yourself. */
async function answerOfOther(
  redis: Deps['redis'],
  id: StreamId,
  other: StreamRequest,
  context: CommandContext,
): Promise<GeneralAnswer | undefined> {
  while (performance.now() < context.deadlineAtMs) {
    await delay(pollEveryMs);
    const { claim, request } = await state(readStream(redis, id));
    if (claim !== null || request?.status === 'acknowledged') return alreadyStreaming;
    if (request?.requestId === other.requestId) continue;
    const outcome = await state(readStreamOutcome(redis, other.requestId));
    return outcome === null ? undefined : generalAnswerOf(outcome);
  }
  return generalAnswerOf({ kind: 'timedOut' });
}
