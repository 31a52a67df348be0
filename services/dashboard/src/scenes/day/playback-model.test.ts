import { describe, expect, it } from '@jest/globals';
import {
  findBytesPerMinute,
  findRecordingAt,
  toPlaybackSpan,
  toRateControl,
  toVisiblePositionMs,
} from './playback-model.ts';

const at = (time: string): number => Date.parse(`2026-01-22T${time}Z`);
const segment = {
  from: '2026-01-22T06:00:00Z',
  to: '2026-01-22T06:30:00Z',
  alarm: false,
  stream_type: null,
  memory_type: 1,
  size_bytes: 180_000_000,
};
const recordings = { channels: [{ channel_id: 1, listed_at: null, segments: [segment] }] };

describe('the recording of a camera at the playhead', () => {
  it('is that of its channel and time', () => {
    expect(findRecordingAt(recordings, 1, at('06:10:00'))).toBe(segment);
    expect(findRecordingAt(recordings, 1, at('06:30:00'))).toBeUndefined();
    expect(findRecordingAt(recordings, 2, at('06:10:00'))).toBeUndefined();
  });

  it('is played from whole seconds to its end, or for ten minutes if it is unknown', () => {
    expect(toPlaybackSpan(segment, at('06:10:00') + 400)).toEqual({ fromMs: at('06:10:00'), toMs: at('06:30:00') });
    expect(toPlaybackSpan(undefined, at('07:00:00'))).toEqual({ fromMs: at('07:00:00'), toMs: at('07:10:00') });
  });

  it('costs the bytes of its size', () => {
    expect(findBytesPerMinute(segment)).toBe(6_000_000);
    expect(findBytesPerMinute({ ...segment, size_bytes: 0 })).toBeNull();
    expect(findBytesPerMinute(undefined)).toBeNull();
  });
});

describe('the controls of a recording', () => {
  it('play at 1x, and fast forward otherwise', () => {
    expect([1, 4, 16].map((rate) => toRateControl(rate as 1 | 4 | 16))).toEqual([
      { playback_control: 0 },
      { playback_control: 3, fast_forward_rewind_times: 3 },
      { playback_control: 3, fast_forward_rewind_times: 5 },
    ]);
  });

  it('show the position of the picture on screen, which is older than the newest one', () => {
    expect(toVisiblePositionMs({ positionMs: 60_000, bufferedEnd: 12, pace: 1 }, 10)).toBe(58_000);
    expect(toVisiblePositionMs({ positionMs: 60_000, bufferedEnd: 12, pace: 4 }, 10)).toBe(52_000);
  });
});
