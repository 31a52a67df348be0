import { describe, expect, it } from '@jest/globals';
import type { Download } from '../../common/downloads/download.ts';
import { findClipAt, findClipsOfDay, toChannelLanes, toChannels } from './clips.ts';

/** A clip on the clock of a camera whose offset differs from that of the vehicle. */
const clip = (start: string, end: string, more: Partial<Download> = {}): Download =>
  ({
    channel: 1,
    status: 'completed',
    video_start_time: `2026-01-22T${start}+08:00`,
    video_end_time: `2026-01-22T${end}+08:00`,
    mp4: null,
    ...more,
  }) as Download;

const day = { fromMs: Date.parse('2026-01-21T18:30:00Z'), toMs: Date.parse('2026-01-22T18:30:00Z') };
const at = (time: string): number => Date.parse(`2026-01-22T${time}+05:30`);

describe('the clips of a day', () => {
  it('are those that overlap it in the zone of the vehicle, sorted and without canceled ones', () => {
    const early = clip('02:00:00', '02:10:00');
    const crossing = clip('02:29:00', '02:31:00');
    const late = clip('12:00:00', '12:01:00');
    const canceled = clip('13:00:00', '13:01:00', { status: 'cancelled' });
    expect(findClipsOfDay([late, canceled, crossing, early], day)).toEqual([crossing, late]);
  });

  it('are found by camera and time; one that plays comes first', () => {
    const original = clip('12:00:00', '12:02:00');
    const playable = clip('12:01:00', '12:02:00', { mp4: { status: 'completed' } as Download['mp4'] });
    const clips = [original, playable];
    expect(findClipAt(clips, 1, at('09:30:30'))).toBe(original);
    expect(findClipAt(clips, 1, at('09:31:30'))).toBe(playable);
    expect(findClipAt(clips, 1, at('09:32:00'))).toBeUndefined();
    expect(findClipAt(clips, 2, at('09:30:30'))).toBeUndefined();
  });

  it('are drawn above the recordings of their camera once they are completed', () => {
    const channels = toChannels({ channels: [] });
    const clips = [clip('12:00:00', '12:02:00'), clip('12:05:00', '12:06:00', { status: 'uploading' })];
    const recorded = { from: '2026-01-22T03:00:00Z', to: '2026-01-22T05:00:00Z', alarm: false };
    const recordings = { channels: [{ channel_id: 1, listed_at: null, segments: [recorded] }] } as never;
    expect(toChannelLanes(channels, clips, recordings, (name) => `Camera ${name}`)).toEqual([
      {
        kind: 'segments',
        name: 'Camera 1',
        segments: [
          { fromMs: at('08:30:00'), toMs: at('10:30:00'), style: 'camera' },
          { fromMs: at('09:30:00'), toMs: at('09:32:00'), style: 'uploaded' },
        ],
      },
    ]);
  });
});
