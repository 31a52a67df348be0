import type { components } from '@fleet/api-client';
import type { Rate } from '../../common/timeline/playhead.ts';
import type { TimeSpan } from '../../common/timeline/time-scale.ts';

type Recordings = components['schemas']['Recordings'];
type Segment = Recordings['channels'][number]['segments'][number];

/** A control of a recording, as the body of the request. */
export interface PlaybackControl {
  readonly playback_control: number;
  readonly fast_forward_rewind_times?: number;
  readonly drag_playback_time?: string;
}

/** Length of a window without a known recording. */
const defaultWindowMs = 10 * 60_000;
/** Cameras play at most that much at once. */
const longestWindowMs = 60 * 60_000;
const secondMs = 1_000;

/** Returns the recording of a camera at a time. */
export const findRecordingAt = (
  recordings: Recordings | undefined,
  channelId: number,
  timeMs: number,
): Segment | undefined =>
  recordings?.channels
    .find(({ channel_id: id }) => id === channelId)
    ?.segments.find(({ from, to }) => Date.parse(from) <= timeMs && timeMs < Date.parse(to));

/** Returns the window to play from a time: to the end of its recording. */
export function toPlaybackSpan(segment: Segment | undefined, timeMs: number): TimeSpan {
  const fromMs = Math.floor(timeMs / secondMs) * secondMs;
  const endMs = segment === undefined ? fromMs + defaultWindowMs : Date.parse(segment.to);
  return { fromMs, toMs: Math.max(fromMs + secondMs, Math.min(endMs, fromMs + longestWindowMs)) };
}

/** Returns the data volume of a minute of a recording; null if its size is unknown. */
export function findBytesPerMinute(segment: Segment | undefined): number | null {
  if (segment === undefined || segment.size_bytes === 0) return null;
  const minutes = (Date.parse(segment.to) - Date.parse(segment.from)) / 60_000;
  return minutes > 0 ? segment.size_bytes / minutes : null;
}

/** Returns the control for a speed: play for 1, otherwise fast forward. */
export const toRateControl = (rate: Rate): PlaybackControl =>
  rate === 1 ? { playback_control: 0 } : { playback_control: 3, fast_forward_rewind_times: Math.log2(rate) + 1 };

/** A known position of the recording, with the end of the buffer at that moment. */
export interface PositionMark {
  readonly positionMs: number;
  /** Seconds of the element. */
  readonly bufferedEnd: number;
  readonly pace: number;
}

/** Returns the position of the picture on screen: the reported one belongs to the newest picture in the buffer. */
export const toVisiblePositionMs = ({ positionMs, bufferedEnd, pace }: PositionMark, currentTime: number): number =>
  positionMs - (bufferedEnd - currentTime) * 1_000 * pace;
