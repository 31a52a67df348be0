import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import { cancelStreamRequest, readStream, type StreamClaim, type StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../../deps.ts';
import { withTimeout } from '../../domain/with-timeout.ts';
import { findStreamSource } from '../find-stream-source.ts';
import { isStreamRunning } from '../media-servers.ts';
import { sendCommand, stateTimeoutMs } from '../send-command.ts';
import { startStream } from '../start-stream.ts';

export type TalkDeps = Pick<Deps, 'bus' | 'commandClient' | 'config' | 'redis' | 'stopped' | 'stopping' | 'utcOffsets'>;

/** 0x9101 data types of voice (JT/T 1078-2016 table 17): both ways, and to the driver only. */
export const voiceDataTypes = { talk: 2, broadcast: 4 } as const;

const previousTalkTimeoutMs = 5_000;
const pollIntervalMs = 50;
/** 0x9102 control that ends talk. */
const endTalkControl = 4;

/** Channel of a device to which somebody talks. */
interface TalkChannel {
  readonly imei: string;
  readonly channel: number;
  readonly dataType: number;
}

/**
 * Requests a talk connection from a camera and waits for it. Throws 404 without a connected device, 504 without a
 * response, and 502 if the camera refuses or does not connect.
 */
export async function startTalk(
  deps: TalkDeps,
  { imei, channel, dataType }: TalkChannel,
  { previousChannel, signal }: { readonly previousChannel: number | null; readonly signal: AbortSignal },
  context: CommandContext,
): Promise<StreamClaim> {
  const id: StreamId = { kind: 'talk', imei, channel };
  for (const each of new Set([previousChannel ?? channel, channel]))
    await waitForEnd(deps, { kind: 'talk', imei, channel: each });
  const { MEDIA_PUBLIC_HOST: server, MEDIA_TALK_PORT: tcpPort } = deps.config;
  const { result } = await startStream(
    deps,
    {
      id,
      address: { server, tcpPort, udpPort: 0, isForeign: false },
      requestedMedia: { dataType, streamType: 0 },
      command: { kind: 'startLive', server, tcpPort, udpPort: 0, channel, dataType, streamType: 0 },
      responseId: '0x9101',
    },
    context,
  );
  if (result !== 'success') throw new AppError('upstream_error', `The camera refused the talk (${result}).`);
  try {
    return await findStreamSource(deps, id, signal);
  } catch (error) {
    await abandonTalk(deps, id, context);
    if (error instanceof AppError && error.code === 'not_streaming')
      throw new AppError('upstream_error', 'The camera accepted the talk but did not connect. Retry.', {
        cause: error,
      });
    throw error;
  }
}

/** Waits for the end of an earlier talk, which its media pod is about to end. */
async function waitForEnd(deps: TalkDeps, id: StreamId): Promise<void> {
  const deadlineMs = performance.now() + previousTalkTimeoutMs;
  while (performance.now() < deadlineMs) {
    const { claim } = await withTimeout(stateTimeoutMs, readStream(deps.redis, id));
    // The claim of a dead pod does not block.
    if (claim === null || !(await isStreamRunning(deps.bus, id, claim))) return;
    await delay(pollIntervalMs);
  }
}

/** Ends a talk whose camera has not connected: another request must not wait for it. */
async function abandonTalk(deps: TalkDeps, id: StreamId, context: CommandContext): Promise<void> {
  try {
    await withTimeout(stateTimeoutMs, cancelStreamRequest(deps.redis, id));
  } catch (error) {
    // It expires by itself.
    context.log.warn({ err: error }, 'could not cancel a request to talk');
  }
  const command = {
    kind: 'controlLive',
    channel: id.channel,
    control: endTalkControl,
    closeType: 0,
    streamType: 0,
  } as const;
  sendCommand(deps, id.imei, command, context).then(
    ({ kind }) => context.log.info({ imei: id.imei, outcome: kind }, 'ended the talk of a camera that did not connect'),
    (error: unknown) => context.log.warn({ err: error }, 'could not end the talk of a camera'),
  );
}
