import { AppError } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import { toCameraDigits } from '../domain/camera-time.ts';
import { type GeneralResponse, isAccepted, toGeneralResponse } from '../domain/outcome.ts';
import { getTimestampChange, PlaybackControl } from '../domain/playback.ts';
import { notifyMedia, type StreamChange } from './notify-media.ts';
import { sendCommand } from './send-command.ts';

export interface ControlPlaybackRequest {
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

type ControlDeps = Pick<Deps, 'commandClient' | 'bus' | 'utcOffsets' | 'config' | 'redis' | 'stopped'>;

/** Limits the delay of the camera's command by the earlier notice. */
const preNotifyTimeoutMs = 300;

/**
 * Controls the playback of a recording (0x9202). Sends the command whether or not the channel plays: the device
 * decides.
 */
export async function controlPlayback(
  deps: ControlDeps,
  request: ControlPlaybackRequest,
  context: CommandContext,
): Promise<GeneralResponse> {
  const { imei, channel, control } = request;
  const id: StreamId = { kind: 'history', imei, channel };
  const seekTime = await toSeekTime(deps, request, context);
  const hasSpeed = control === PlaybackControl.fastForward || control === PlaybackControl.keyFrameRewind;
  // The first frames of another position or speed may arrive before the response.
  await notifyMedia(deps, id, toUpcomingChanges(control), context, preNotifyTimeoutMs);
  const outcome = await sendCommand(
    deps,
    imei,
    { kind: 'controlPlayback', channel, control, speed: hasSpeed ? request.speed : 0, seekTime },
    context,
  );
  if (isAccepted(outcome)) await notifyMedia(deps, id, toStreamChanges(control), context);
  return toGeneralResponse(outcome);
}

async function toSeekTime(
  deps: ControlDeps,
  { imei, control, seekMs }: ControlPlaybackRequest,
  context: CommandContext,
): Promise<string | null> {
  if (control !== PlaybackControl.seek) return null;
  if (seekMs === undefined)
    throw new AppError('validation_failed', 'The parameter drag_playback_time is required with playback_control 5.');
  return toCameraDigits(seekMs, await deps.utcOffsets.get(imei, context), 'parameter drag_playback_time');
}

const createTimestampChange = (change: 'restarting' | 'restarted', control: number): StreamChange[] => {
  const pace = getTimestampChange(control);
  if (pace === undefined) return [];
  return [pace === 'same' ? { change } : { change, pace }];
};

const toUpcomingChanges = (control: number): StreamChange[] => createTimestampChange('restarting', control);

function toStreamChanges(control: number): StreamChange[] {
  if (control === PlaybackControl.pause) return [{ change: 'paused' }];
  if (control === PlaybackControl.stop) return [{ change: 'ended' }];
  const restarted = createTimestampChange('restarted', control);
  // A paused recording may stay paused after a seek.
  return control === PlaybackControl.seek ? restarted : [{ change: 'resumed' }, ...restarted];
}
