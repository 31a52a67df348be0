import { DataType, type MediaFrame } from '@fleet/jt1078';
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DiscontinuityDetector } from './discontinuity-detector.ts';

const frame = (kind: 'video' | 'audio', timestamp: number, arrivalMs: number, dataType: number = DataType.P) =>
  ({ kind, timestampLow: timestamp >>> 0, arrivalMs, dataType }) as MediaFrame;

let detector: DiscontinuityDetector;
let timestamp: number;
let nowMs: number;
/** Plays frames of a steady stream: 25 pictures a second. */
const play = (count: number): boolean[] =>
  Array.from({ length: count }, () => {
    timestamp += 40;
    nowMs += 40;
    return detector.isDiscontinuity(frame('video', timestamp, nowMs));
  });

beforeEach(() => {
  detector = new DiscontinuityDetector();
  timestamp = 1_000_000;
  nowMs = 5_000;
  expect(play(20)).not.toContain(true);
});

describe('DiscontinuityDetector during a command', () => {
  beforeEach(() => detector.expect(nowMs));

  it.each([
    ['an hour forward', 3_600_000, DataType.I],
    ['two seconds forward', 2_000, DataType.P],
    ['an hour back', -3_600_000, DataType.P],
    ['to the previous key frame', -480, DataType.I],
  ])('detects a jump %s, once', (_what, by, dataType) => {
    expect(play(10)).not.toContain(true);
    timestamp += by;
    expect(detector.isDiscontinuity(frame('video', timestamp, nowMs + 40, dataType))).toBe(true);
    expect(play(10)).not.toContain(true);
    timestamp += 2_000;
    expect(play(1)).toEqual([false]);
  });

  it('detects a jump in audio that arrives before the video', () => {
    expect(detector.isDiscontinuity(frame('audio', timestamp, nowMs, DataType.AUDIO))).toBe(false);
    timestamp -= 700;
    expect(detector.isDiscontinuity(frame('audio', timestamp, nowMs, DataType.AUDIO))).toBe(true);
    expect(detector.isDiscontinuity(frame('video', timestamp, nowMs, DataType.I))).toBe(false);
  });

  it.each([
    ['a picture displayed later than it arrives', [frame('video', 1_000_720, 5_840, DataType.B)]],
    ['a pause in which the clock advanced', [frame('video', 1_010_840, 15_840)]],
    ['delayed frames that arrive together', [frame('video', 1_000_840, 9_000), frame('video', 1_000_880, 9_001)]],
    ['one or two missing pictures', [frame('video', 1_001_000, 5_840)]],
    ['the wrap of the clock', [frame('audio', 0xffff_fff0, 5_840), frame('audio', 10, 5_860)]],
  ])('does not detect a jump in %s', (_what, frames) => {
    expect(frames.map((each) => detector.isDiscontinuity(each))).not.toContain(true);
  });
});

describe('DiscontinuityDetector without a command', () => {
  it('ignores clock leaps, which cameras have for many reasons', () => {
    timestamp += 3_600_000;
    expect(play(1)).toEqual([false]);
    timestamp -= 7_200_000;
    expect(play(1)).toEqual([false]);
  });

  it('ignores clock leaps after the command has timed out', () => {
    detector.expect(nowMs);
    nowMs += 15_000;
    timestamp -= 5_000;
    expect(play(1)).toEqual([false]);
  });
});
