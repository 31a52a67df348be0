import type { components } from '@fleet/api-client';
import type { Download } from '../../common/downloads/download.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import type { Lane, Segment } from '../../common/timeline/lanes.ts';
import type { TimeSpan } from '../../common/timeline/time-scale.ts';

/** A camera of a vehicle. */
export interface Channel {
  readonly id: number;
  readonly name: string;
}

/** Returns the cameras of a vehicle; the first channel if none are recorded. */
export const toChannels = ({ channels }: Pick<Vehicle, 'channels'>): Channel[] =>
  channels.length === 0
    ? [{ id: 1, name: '1' }]
    : channels.filter(({ enabled }) => enabled).map(({ channel_id: id, name }) => ({ id, name }));

export const toClipSpan = (clip: Pick<Download, 'video_start_time' | 'video_end_time'>): TimeSpan => ({
  fromMs: Date.parse(clip.video_start_time),
  toMs: Date.parse(clip.video_end_time),
});

/** Returns the clips of a day, except canceled ones, in the order of their times. */
export const findClipsOfDay = (downloads: readonly Download[], day: TimeSpan): Download[] =>
  downloads
    .filter((download) => {
      const { fromMs, toMs } = toClipSpan(download);
      return download.status !== 'cancelled' && toMs > day.fromMs && fromMs < day.toMs;
    })
    .toSorted((a, b) => Date.parse(a.video_start_time) - Date.parse(b.video_start_time));

/** Returns the completed clip of a camera at a time. One with an MP4 comes first. */
export function findClipAt(clips: readonly Download[], channelId: number, timeMs: number): Download | undefined {
  const found = clips.filter((clip) => {
    const { fromMs, toMs } = toClipSpan(clip);
    return clip.status === 'completed' && clip.channel === channelId && fromMs <= timeMs && timeMs < toMs;
  });
  return found.find(({ mp4 }) => mp4?.status === 'completed') ?? found[0];
}

type Recordings = components['schemas']['Recordings'];

const toRecordedSegments = (recordings: Recordings | undefined, channelId: number): Segment[] =>
  (recordings?.channels.find(({ channel_id: id }) => id === channelId)?.segments ?? []).map(({ from, to, alarm }) => ({
    fromMs: Date.parse(from),
    toMs: Date.parse(to),
    style: alarm ? 'alarm' : 'camera',
  }));

/** Returns one lane for each camera: what it has recorded, and above it the uploaded clips. */
export const toChannelLanes = (
  channels: readonly Channel[],
  clips: readonly Download[],
  recordings: Recordings | undefined,
  toName: (name: string) => string,
): Lane[] =>
  channels.map(({ id, name }) => ({
    kind: 'segments',
    name: toName(name),
    segments: [
      ...toRecordedSegments(recordings, id),
      ...clips
        .filter(({ channel, status }) => channel === id && status === 'completed')
        .map((clip): Segment => ({ ...toClipSpan(clip), style: 'uploaded' })),
    ],
  }));
