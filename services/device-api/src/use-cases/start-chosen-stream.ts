import { BusError, type Outcome, request, switchStream } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { leaveMainStream, readStream, type StreamId, startMainStream } from '@fleet/storage';
import type { CommandContext } from '../deps.ts';
import { type GeneralResponse, toGeneralResponse } from '../domain/outcome.ts';
import { type StartDeps, withStateTimeout } from './start-stream.ts';

/** A stream whose type a caller chose: 0 main stream, 1 sub stream. */
interface ChosenStream {
  readonly id: StreamId;
  readonly streamType: number;
  readonly caller: string;
}

const mainStream = 0;
/** Above the time-out of the media pod's command. */
const switchTimeoutMs = 15_000;

/**
 * Starts a live stream of a chosen type. A running stream of another type is switched for all viewers; it stays on the
 * main stream while other callers want that.
 */
export async function startChosenStream(
  deps: StartDeps,
  chosen: ChosenStream,
  start: () => Promise<GeneralResponse>,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { redis } = deps;
  const { id, streamType, caller } = chosen;
  if (streamType !== mainStream) {
    const isMainWanted = await withStateTimeout(leaveMainStream(redis, id, caller));
    const response = await start();
    return response.result !== 'success' || isMainWanted ? response : switchRunning(deps, chosen, response, context);
  }
  await withStateTimeout(startMainStream(redis, id, caller));
  let result: GeneralResponse['result'] | undefined;
  try {
    const response = await start();
    const switched = response.result === 'success' ? await switchRunning(deps, chosen, response, context) : response;
    ({ result } = switched);
    return switched;
  } finally {
    if (result !== 'success') await leaveAfterFailure(deps, chosen, context);
  }
}

/** Switches a running stream of another type; returns the response of the start if there is none. */
async function switchRunning(
  { bus, redis }: StartDeps,
  { id, streamType }: ChosenStream,
  started: GeneralResponse,
  { correlationId }: CommandContext,
): Promise<GeneralResponse> {
  const { claim } = await withStateTimeout(readStream(redis, id));
  if (claim === null || (claim.request?.streamType ?? mainStream) === streamType) return started;
  const { imei, channel } = id;
  const options = { timeoutMs: switchTimeoutMs, correlationId };
  let outcome: Outcome | null;
  try {
    ({ outcome } = await request(bus, switchStream(claim.podId), { imei, channel, streamType }, options));
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw new AppError('unavailable', 'The stream cannot be switched at the moment. Retry.', { cause });
  }
  const response = outcome === null ? started : toGeneralResponse(outcome);
  return response.result === 'success' ? started : response;
}

async function leaveAfterFailure({ redis }: StartDeps, { id, caller }: ChosenStream, context: CommandContext) {
  try {
    await leaveMainStream(redis, id, caller);
  } catch (error) {
    // It expires by itself.
    context.log.warn({ err: error }, 'could not cancel the start of a main stream');
  }
}
