import { randomUUID } from 'node:crypto';
import type { DeviceCommand, DeviceCommandClient, Outcome } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { type MovingStream, type Redis, readDevice, type StreamId } from '@fleet/storage';
import { formatStreamName } from '../domain/stream-name.ts';

/** Commands that this service sends to cameras on its own. */
type CameraCommand = 'stop' | 'pause' | 'play';

/** Dependencies of commands. */
export interface CommandCameraDeps {
  readonly commandClient: DeviceCommandClient;
  readonly redis: Redis;
  readonly log: Logger;
}

/** Limit of the delivery time: a later command could end a stream that was requested since. */
const commandTimeoutMs = 10_000;

/** 0x9102 control (JT/T 1078-2016 table 18): 0 closes, 2 pauses, 3 resumes. */
const liveControlCodes: Readonly<Record<CameraCommand, number>> = { stop: 0, pause: 2, play: 3 };
/** 0x9202 control (JT/T 1078-2016 table 25): 0 plays, 1 pauses, 2 ends. */
const historyControlCodes: Readonly<Record<CameraCommand, number>> = { stop: 2, pause: 1, play: 0 };

function toDeviceCommand(id: StreamId, command: CameraCommand): DeviceCommand {
  // 0x9102 control 4 ends talk.
  if (id.kind === 'talk') return { kind: 'controlLive', channel: id.channel, control: 4, closeType: 0, streamType: 0 };
  if (id.kind === 'live')
    return {
      kind: 'controlLive',
      channel: id.channel,
      control: liveControlCodes[command],
      // Both audio and video, of the main stream; omitted fields mean the same.
      closeType: 0,
      streamType: 0,
    };
  return {
    kind: 'controlPlayback',
    channel: id.channel,
    control: historyControlCodes[command],
    speed: 0,
    seekTime: null,
  };
}

/** Sends 0x9102 or 0x9202 to a camera over the bus and logs the outcome; never throws. */
export async function commandCamera(
  deps: CommandCameraDeps,
  id: StreamId,
  command: CameraCommand,
  reason: string,
): Promise<void> {
  await send(deps, id, toDeviceCommand(id, command), { order: command, reason });
}

/** Switches a live stream to the main (0) or the sub stream (1); returns the outcome. */
export function switchCamera(
  deps: CommandCameraDeps,
  id: StreamId,
  streamType: number,
  reason: string,
): Promise<Outcome> {
  const command = { kind: 'controlLive', channel: id.channel, control: 1, closeType: 0, streamType } as const;
  return send(deps, id, command, { order: streamType === 0 ? 'main stream' : 'sub stream', reason });
}

/** Sends 0x9101 again for a live stream that has left another pod; returns null if its address is unknown. */
export async function requestCameraAgain(deps: CommandCameraDeps, moving: MovingStream): Promise<Outcome | null> {
  const { id, request } = moving;
  if (request.address === undefined) return null;
  const { dataType, streamType, address } = request;
  const command = { kind: 'startLive', ...address, channel: id.channel, dataType, streamType } as const;
  return send(deps, id, command, { order: 'start', reason: 'the pod of the stream has stopped' });
}

async function send(
  { commandClient, redis, log }: CommandCameraDeps,
  id: StreamId,
  command: DeviceCommand,
  { order, reason }: { readonly order: string; readonly reason: string },
): Promise<Outcome> {
  const correlationId = randomUUID();
  const outcome = await commandClient.send({
    imei: id.imei,
    command,
    correlationId,
    timeoutMs: commandTimeoutMs,
    isClaimed: async (imei) => (await readDevice(redis, imei)) !== null,
  });
  const result = outcome.kind === 'answered' ? outcome.answer.result : null;
  log.info(
    { stream: formatStreamName(id), order, reason, correlationId, outcome: outcome.kind, result },
    'sent a command to a camera',
  );
  return outcome;
}
