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

/** Parts that differ between the ways to start a stream. */
export interface StreamStart {
  readonly id: StreamId;
  readonly address: MediaAddress;
  /** Data for the media service. */
  readonly wanted: Pick<StreamRequest, 'dataType' | 'streamType' | 'pace'>;
  /** 0x9101 or 0x9201. */
  readonly command: DeviceCommand;
  /** Message id of the command in responses. */
  readonly responseId: string;
  /** Maps the outcome of the command to a terminal general response. */
  readonly read?: (outcome: Outcome) => Outcome;
}

const pollEveryMs = 100;
const renewEveryMs = 3_000;

/**
 * Starts a stream: sends a command to its camera, unless the channel streams. A concurrent request waits for that
 * response and shares it.
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
      // Its owner died without releasing it.
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

/** Streams are found by their state in Redis: without it none can be started. */
async function state<T>(read: Promise<T>): Promise<T> {
  try {
    return await within(stateLimitMs, read);
  } catch (cause) {
    throw new AppError('unavailable', 'The state of the stream cannot be read at the moment.', { cause });
  }
}

/** Sends the command; returns undefined if the camera does not respond and streams all the same. */
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
        `The device already streams on ${config.RATE_LIMIT_CHANNELS_PER_DEVICE} channels.`,
        { headers: { 'Retry-After': '60' } },
      );
    if (!start.address.isForeign) await unlessStopped(deps.stopped, waitForMediaTier(deps.bus));
    outcome = await askRenewing(deps, start, request, context);
    // False if the camera connected before its response: the stream is running.
    const isExpected = isAccepted(outcome) && (await state(acknowledgeStream(redis, id, request.requestId)));
    if (isExpected && id.kind === 'live' && !request.isForeign)
      publish(deps.bus, streamChanged, {
        ...streamStatusEvent(id, 'starting', request.streamType),
        startId: request.requestId,
      });
  } finally {
    if (outcome === undefined || !isAccepted(outcome)) await forget(redis, id, request.requestId, outcome, context);
  }
  // Without a response only the stream itself counts.
  if (outcome.kind !== 'answered' && (await state(readStream(redis, id))).claim !== null) return undefined;
  return generalAnswerOf(outcome);
}

/** Sends the command, and renews the request until the outcome. */
async function askRenewing(
  deps: StartDeps,
  { id, command, read }: StreamStart,
  request: StreamRequest,
  context: CommandContext,
): Promise<Outcome> {
  const renewal = setInterval(() => {
    renewStreamRequest(deps.redis, id, request.requestId).catch((error: unknown) =>
      context.log.warn({ err: error }, 'could not renew a stream request'),
    );
  }, renewEveryMs);
  try {
    const outcome = await askDevice(deps, id.imei, command, context);
    return read?.(outcome) ?? outcome;
  } finally {
    clearInterval(renewal);
  }
}

/** Cancels a request that the camera did not accept, and saves its outcome for waiting callers. */
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
    context.log.warn({ err: error }, 'could not cancel a stream request');
  }
}

/** Waits for the outcome of another request; returns null if that request ended without one (its process died). */
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
