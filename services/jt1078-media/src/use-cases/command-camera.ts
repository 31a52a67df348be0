import { randomUUID } from 'node:crypto';
import type { DeviceAsker, DeviceCommand } from '@fleet/bus';
import type { Logger } from '@fleet/service-kit';
import { type Redis, readDevice, type StreamId } from '@fleet/storage';
import { streamName } from '../domain/stream-key.ts';

/** What this service tells cameras by itself. */
export type CameraOrder = 'stop' | 'pause' | 'play';

/** A command that is not through by then would end a stream that was asked for since. */
const COMMAND_LIMIT_MS = 10_000;

/** 0x9102 control (JT/T 1078-2016 table 18): 0 closes, 2 pauses, 3 resumes. */
const LIVE_CONTROL: Readonly<Record<CameraOrder, number>> = { stop: 0, pause: 2, play: 3 };
/** 0x9202 control (JT/T 1078-2016 table 25): 0 plays, 1 pauses, 2 ends. */
const HISTORY_CONTROL: Readonly<Record<CameraOrder, number>> = { stop: 2, pause: 1, play: 0 };

function commandFor(id: StreamId, order: CameraOrder): DeviceCommand {
  if (id.kind === 'live')
    return {
      kind: 'controlLive',
      channel: id.channel,
      control: LIVE_CONTROL[order],
      // Both sound and pictures, of the main stream: what is left out means the same.
      closeType: 0,
      streamType: 0,
    };
  return {
    kind: 'controlPlayback',
    channel: id.channel,
    control: HISTORY_CONTROL[order],
    speed: 0,
    seekTime: null,
  };
}

/** Sends a camera 0x9102 or 0x9202 over the bus and logs how that ended; never throws. */
export async function commandCamera(
  deps: { readonly asker: DeviceAsker; readonly redis: Redis; readonly log: Logger },
  id: StreamId,
  order: CameraOrder,
  reason: string,
): Promise<void> {
  const correlationId = randomUUID();
  const outcome = await deps.asker.ask({
    imei: id.imei,
    command: commandFor(id, order),
    correlationId,
    timeoutMs: COMMAND_LIMIT_MS,
    isClaimed: async (imei) => (await readDevice(deps.redis, imei)) !== null,
  });
  const result = outcome.kind === 'answered' ? outcome.answer.result : null;
  deps.log.info(
    { stream: streamName(id), order, reason, correlationId, outcome: outcome.kind, result },
    'told a camera',
  );
}
