import { AppError } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { cameraDigits } from '../domain/camera-time.ts';
import { type GeneralAnswer, generalAnswerOf, isAccepted } from '../domain/outcome.ts';
import { clockChangeOf, PlaybackControl } from '../domain/playback.ts';
import { askDevice } from './ask-device.ts';
import { type StreamChange, tellMedia } from './tell-media.ts';

export interface ControlPlayback {
  /** Canonical number. */
  readonly imei: string;
  readonly channel: number;
  /** JT/T 1078-2016 table 25. */
  readonly control: number;
  /** 0 none, 1 to 5 for 1 to 16 times; used by fast forward and rewind. */
  readonly speed: number;
  /** Position of a seek; used only by that. */
  readonly seekMs?: number | undefined;
}

type ControlDeps = Pick<Deps, 'asker' | 'bus' | 'clocks' | 'config' | 'redis' | 'stopped'>;

/** Limits the delay of the camera's command by the earlier notice. */
const warnLimitMs = 300;

/**
 * Controls the playback of a recording (0x9202). Sends the command whether or not the channel plays: the device
 * decides.
 */
export async function controlPlayback(
  deps: ControlDeps,
  wanted: ControlPlayback,
  context: CommandContext,
): Promise<GeneralAnswer> {
  const { imei, channel, control } = wanted;
  const id: StreamId = { kind: 'history', imei, channel };
  const seekTime = await seekTimeOf(deps, wanted, context);
  const hasSpeed = control === PlaybackControl.fastForward || control === PlaybackControl.keyFrameRewind;
  // The first frames of another position or speed may arrive before the response.
  await tellMedia(deps, id, warningsOf(control), context, warnLimitMs);
  const outcome = await askDevice(
    deps,
    imei,
    { kind: 'controlPlayback', channel, control, speed: hasSpeed ? wanted.speed : 0, seekTime },
    context,
  );
  if (isAccepted(outcome)) await tellMedia(deps, id, changesOf(control), context);
  return generalAnswerOf(outcome);
}

async function seekTimeOf(
  deps: ControlDeps,
  { imei, control, seekMs }: ControlPlayback,
  context: CommandContext,
): Promise<string | null> {
  if (control !== PlaybackControl.seek) return null;
  if (seekMs === undefined)
    throw new AppError('validation_failed', 'The parameter drag_playback_time is required with playback_control 5.');
  return cameraDigits(seekMs, await deps.clocks.offsetOf(imei, context), 'parameter drag_playback_time');
}

const withPace = (change: 'restarting' | 'restarted', control: number): StreamChange[] => {
  const pace = clockChangeOf(control);
  if (pace === undefined) return [];
  return [pace === 'same' ? { change } : { change, pace }];
};

const warningsOf = (control: number): StreamChange[] => withPace('restarting', control);

function changesOf(control: number): StreamChange[] {
  if (control === PlaybackControl.pause) return [{ change: 'paused' }];
  if (control === PlaybackControl.stop) return [{ change: 'ended' }];
  const restarted = withPace('restarted', control);
  // A paused recording may stay paused after a seek.
  return control === PlaybackControl.seek ? restarted : [{ change: 'resumed' }, ...restarted];
}
