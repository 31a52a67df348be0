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
import { type GeneralAnswer, generalAnswerOf, isAccepted } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { keepStreamOutcome, readStreamOutcome } from '../store/stream-outcomes.ts';
import { askDevice, stateLimitMs, unlessStopped } from './ask-device.ts';
import { isRunning, waitForMediaTier } from './media-tier.ts';

export type StartDeps = Pick<Deps, 'config' | 'asker' | 'bus' | 'redis' | 'stopped'>;

/** What is particular to one way of starting a stream. */
export interface StreamStart {
  readonly id: StreamId;
  readonly address: MediaAddress;
  /** What the media service has to know of it. */
  readonly wanted: Pick<StreamRequest, 'dataType' | 'streamType' | 'pace'>;
  /** 0x9101 or 0x9201. */
  readonly command: DeviceCommand;
  /** Message id of the command, as answers show it. */
  readonly responseId: string;
  /** How the end of the command reads as a terminal general response. */
  readonly read?: (outcome: Outcome) => Outcome;
}

const pollEveryMs = 100;
const renewEveryMs = 3_000;

/**
 * Brings a channel to stream: asks its camera, unless the channel streams already; a request that comes while the camera is being asked waits for
 * that answer and shares it.
 */
export async function startStream(
  deps: StartDeps,
  start: StreamStart,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { redis } = deps;
  const { id } = start;
  const alreadyStreaming: GeneralAnswer = { responseId: start.responseId, result: 'success' };
  while (performance.now() < context.deadlineAtMs) {
    const request: StreamRequest = {
      ...start.wanted,
      requestId: randomUUID(),
      status: 'asking',
      isForeign: start.address.isForeign,
      requestedAtMs: Date.now(),
      correlationId: context.correlationId,
    };
    const reserved = await state(reserveStream(redis, id, request));
    if (reserved.state === 'streaming') {
      if (await isRunning(deps.bus, id, reserved.claim)) return alreadyStreaming;
      const isReleased = await state(releaseStream(redis, id, reserved.claim.generation));
      // Whoever had it has died without a word.
      if (isReleased && id.kind === 'live') publish(deps.bus, streamChanged, streamStatusEvent(id, 'stopped'));
      continue;
    }
    if (reserved.state === 'reserved') return (await ask(deps, start, request, context)) ?? alreadyStreaming;
    if (reserved.request.status === 'acknowledged') return alreadyStreaming;
    const other = await unlessStopped(deps.stopped, outcomeOfOther(redis, id, reserved.request, context));
    if (other === 'streaming') return alreadyStreaming;
    if (other !== null) return generalAnswerOf(other);
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

/** Asks the camera; undefined when it does not answer and streams all the same. */
async function ask(
  deps: StartDeps,
  start: StreamStart,
  request: StreamRequest,
  context: CommandContext,
): Promise<GeneralAnswer | undefined> {
  const { config, redis } = deps;
  const { id } = start;
  let outcome: Outcome | undefined;
  try {
    if ((await state(countStreamingChannels(redis, id.imei))) > config.RATE_LIMIT_CHANNELS_PER_DEVICE)
      throw new AppError(
        'quota_exceeded',
        `The device streams on ${config.RATE_LIMIT_CHANNELS_PER_DEVICE} channels already.`,
        { headers: { 'Retry-After': '60' } },
      );
    if (!start.address.isForeign) await unlessStopped(deps.stopped, waitForMediaTier(deps.bus));
    outcome = await askRenewing(deps, start, request, context);
    // False when the camera was faster than its answer and has connected: the stream runs, nothing is left to do.
    const isExpected = isAccepted(outcome) && (await state(acknowledgeStream(redis, id, request.requestId)));
    if (isExpected && id.kind === 'live' && !request.isForeign)
      publish(deps.bus, streamChanged, {
        ...streamStatusEvent(id, 'starting', request.streamType),
        startId: request.requestId,
      });
  } finally {
    if (outcome === undefined || !isAccepted(outcome)) await forget(redis, id, request.requestId, outcome, context);
  }
  // Without an answer, what counts is whether the camera streams.
  if (outcome.kind !== 'answered' && (await state(readStream(redis, id))).claim !== null) return undefined;
  return generalAnswerOf(outcome);
}

/** Asks the camera, and meanwhile keeps the request from expiring. */
async function askRenewing(
  deps: StartDeps,
  { id, command, read }: StreamStart,
  request: StreamRequest,
  context: CommandContext,
): Promise<Outcome> {
  const renewal = setInterval(() => {
    renewStreamRequest(deps.redis, id, request.requestId).catch((error: unknown) =>
      context.log.warn({ err: error }, 'a stream request could not be renewed'),
    );
  }, renewEveryMs);
  try {
    const outcome = await askDevice(deps, id.imei, command, context);
    return read?.(outcome) ?? outcome;
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
    await within(stateLimitMs, cancelStreamRequest(redis, id, requestId));
  } catch (error) {
    // It expires by itself.
    context.log.warn({ err: error }, 'a stream request could not be taken back');
  }
}

/** Waits for the end of another request; null when that request is gone without one (its process died): ask yourself. */
async function outcomeOfOther(
  redis: Deps['redis'],
  id: StreamId,
  other: StreamRequest,
  context: CommandContext,
): Promise<Outcome | 'streaming' | null> {
  while (performance.now() < context.deadlineAtMs) {
    await delay(pollEveryMs);
    const { claim, request } = await state(readStream(redis, id));
    if (claim !== null || request?.status === 'acknowledged') return 'streaming';
    if (request?.requestId === other.requestId) continue;
    return state(readStreamOutcome(redis, other.requestId));
  }
  return { kind: 'timedOut' };
}
