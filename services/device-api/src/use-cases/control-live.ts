import type { CommandContext, Deps } from '../deps.ts';
import { type GeneralResponse, isAccepted, toGeneralResponse } from '../domain/outcome.ts';
import { notifyMedia, type StreamChange } from './notify-media.ts';
import { sendCommand } from './send-command.ts';

interface ControlLiveRequest {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  /** JT/T 1078 table 18: 0 close, 1 switch stream, 2 pause, 3 resume, 4 end intercom. */
  readonly control: number;
  readonly closeType: number;
  readonly streamType: number;
}

/** Controls a live stream (0x9102). Sends the command whether or not the channel streams: the device decides. */
export async function controlLive(
  deps: Pick<Deps, 'commandClient' | 'bus' | 'config' | 'redis' | 'stopped'>,
  request: ControlLiveRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { imei, channel, control } = request;
  // Unused fields of a control are 0, JT/T 1078-2016 table 18.
  const closeType = control === 0 ? request.closeType : 0;
  const streamType = control === 1 ? request.streamType : 0;
  const outcome = await sendCommand(
    deps,
    imei,
    { kind: 'controlLive', channel, control, closeType, streamType },
    context,
  );
  if (isAccepted(outcome))
    await notifyMedia(deps, { kind: 'live', imei, channel }, toStreamChanges(control, closeType, streamType), context);
  return toGeneralResponse(outcome);
}

function toStreamChanges(control: number, closeType: number, streamType: number): StreamChange[] {
  if (control === 0) return closeType === 0 ? [{ change: 'ended' }] : [];
  if (control === 1) return [{ change: 'switched', streamType }];
  if (control === 2) return [{ change: 'paused' }];
  return control === 3 ? [{ change: 'resumed' }] : [];
}
