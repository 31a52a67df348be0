import type { CommandContext, Deps } from '../deps.ts';
import { type GeneralAnswer, generalAnswerOf, isAccepted } from '../domain/outcome.ts';
import { askDevice } from './ask-device.ts';
import { type StreamChange, tellMedia } from './tell-media.ts';

export interface ControlLive {
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
  deps: Pick<Deps, 'asker' | 'bus' | 'config' | 'redis' | 'stopped'>,
  wanted: ControlLive,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { imei, channel, control } = wanted;
  // Unused fields of a control are 0, JT/T 1078-2016 table 18.
  const closeType = control === 0 ? wanted.closeType : 0;
  const streamType = control === 1 ? wanted.streamType : 0;
  const outcome = await askDevice(
    deps,
    imei,
    { kind: 'controlLive', channel, control, closeType, streamType },
    context,
  );
  if (isAccepted(outcome))
    await tellMedia(deps, { kind: 'live', imei, channel }, changesOf(control, closeType), context);
  return generalAnswerOf(outcome);
}

function changesOf(control: number, closeType: number): StreamChange[] {
  if (control === 0) return closeType === 0 ? [{ change: 'ended' }] : [];
  if (control === 2) return [{ change: 'paused' }];
  return control === 3 ? [{ change: 'resumed' }] : [];
}
