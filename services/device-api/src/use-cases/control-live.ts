import { announce, mediaControl, mediaControlSubject } from '@fleet/bus';
import { dropStreamRequest, readStream, type StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { type GeneralAnswer, generalAnswerOf, isAccepted } from '../domain/outcome.ts';
import { within } from '../domain/within.ts';
import { askDevice, stateLimitMs } from './ask-device.ts';

export interface ControlLive {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  /** JT/T 1078 table 18: 0 close, 1 switch stream, 2 pause, 3 resume, 4 end intercom. */
  readonly control: number;
  readonly closeType: number;
  readonly streamType: number;
}

/** Controls a live stream (0x9102). The command is sent whether or not the channel streams: the device answers what it makes of it. */
export async function controlLive(
  deps: Pick<Deps, 'asker' | 'bus' | 'redis' | 'stopped'>,
  wanted: ControlLive,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { imei, channel, control, closeType, streamType } = wanted;
  const outcome = await askDevice(
    deps,
    imei,
    { kind: 'controlLive', channel, control, closeType, streamType },
    context,
  );
  const change = changeOf(control, closeType);
  if (isAccepted(outcome) && change !== undefined) {
    // The device has done it: what the media service does not hear now, it finds out by the packets that stay away.
    await tellMedia(deps, { kind: 'live', imei, channel }, change).catch((error: unknown) =>
      context.log.warn({ err: error }, 'the media service could not be told of a control command'),
    );
  }
  return generalAnswerOf(outcome);
}

type Change = 'ended' | 'paused' | 'resumed';

function changeOf(control: number, closeType: number): Change | undefined {
  if (control === 0) return closeType === 0 ? 'ended' : undefined;
  if (control === 2) return 'paused';
  return control === 3 ? 'resumed' : undefined;
}

async function tellMedia(deps: Pick<Deps, 'bus' | 'redis'>, id: StreamId, change: Change): Promise<void> {
  if (change === 'ended') await within(stateLimitMs, dropStreamRequest(deps.redis, id));
  const { claim } = await within(stateLimitMs, readStream(deps.redis, id));
  if (claim !== null) announce(deps.bus, mediaControl, { ...id, change }, mediaControlSubject(claim.podId));
}
