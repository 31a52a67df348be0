import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { DtsEstimator } from './dts-estimator.ts';
import { StreamTimeline } from './stream-timeline.ts';
import { TranscodeClock } from './transcode-clock.ts';

fc.configureGlobal(propertySettings);

const low = (timestamp: number): number => timestamp >>> 0;

/** Returns output times of video timestamps, which arrive 40 ms apart unless specified. */
function video(
  timestamps: readonly number[],
  arrival = (i: number): number => i * 40,
  timeline = new StreamTimeline(),
): number[] {
  return timestamps.map((timestamp, i) => Math.round(timeline.videoTime(low(timestamp), arrival(i))));
}

describe('StreamTimeline', () => {
  it.each([
    ['ms since 1970', 1_700_000_000_000 % 2 ** 32],
    ['ms since 2000', 630_671_952_942 % 2 ** 32],
    ['from 0', 0],
    ['uptime that wraps in its lower 32 bits', 2 ** 32 - 60],
  ])('starts at 0 and uses timestamp differences: %s', (_case, base) => {
    expect(video([0, 40, 120, 160, 400].map((ms) => base + ms))).toEqual([0, 40, 120, 160, 400]);
  });

  it('replaces jumps, backward steps and glitches by the usual step', () => {
    expect(video([0, 40, 80, 900_040, 900_080])).toEqual([0, 40, 80, 120, 160]);
    expect(video([500_000, 500_040, 500_080, 10, 50])).toEqual([0, 40, 80, 120, 160]);
    expect(video([0, 40, 3_000_000_000, 120, 160])).toEqual([0, 40, 80, 120, 160]);
  });

  it('synchronizes audio and video across a jump of both', () => {
    const timeline = new StreamTimeline();
    timeline.videoTime(1000, 0);
    expect(timeline.audioTime(1010, 5, 40)).toBe(10);
    timeline.videoTime(1040, 40);
    timeline.audioTime(1050, 45, 40);
    expect(timeline.videoTime(777_000, 80)).toBe(80);
    expect(timeline.audioTime(777_010, 85, 40)).toBe(90);
    expect(timeline.videoTime(777_040, 120)).toBe(120);
  });

  it('uses arrival time when the clock stands still', () => {
    const out = video(Array.from({ length: 60 }, () => 12_345));
    expect(out[20]).toBe(0);
    expect(out.slice(30, 33)).toEqual([1200, 1240, 1280]);
    expect(out[59]).toBe(59 * 40);
  });

  it('returns to the device clock when it advances again', () => {
    const timeline = new StreamTimeline();
    video(
      Array.from({ length: 50 }, () => 7),
      (i) => i * 40,
      timeline,
    );
    const later = video(
      Array.from({ length: 200 }, (_, i) => 7 + (i + 1) * 40),
      (i) => (50 + i) * 40 + (i % 3) * 10,
      timeline,
    );
    const steps = later.slice(100).map((at, i, all) => at - (all[i - 1] ?? at - 40));
    expect(new Set(steps)).toEqual(new Set([40]));
  });

  it('scales a 90 kHz clock', () => {
    for (const fps of [25, 30]) {
      const frameMs = 1000 / fps;
      const out = video(
        Array.from({ length: 200 }, (_, i) => i * 90 * frameMs),
        (i) => i * frameMs,
      );
      expect(Math.abs((out[199] ?? 0) - 199 * frameMs)).toBeLessThan(200);
      expect((out[199] ?? 0) - (out[198] ?? 0)).toBeCloseTo(frameMs, -1);
    }
  });

  it('accepts varying frame intervals and frames that arrive together', () => {
    const timestamps = [0, 80, 280, 320, 560, 800, 3000];
    expect(video(timestamps, () => 0)).toEqual(timestamps);
  });

  it('places audio by its samples, so bursts with one timestamp are spread evenly', () => {
    const timeline = new StreamTimeline();
    const out = Array.from({ length: 20 }, (_, i) => timeline.audioTime(1000 + Math.floor(i / 5) * 125, i * 25, 25));
    expect(out).toEqual(Array.from({ length: 20 }, (_, i) => i * 25));
  });

  it('corrects audio that drifts more than 200 ms from the device, without going back', () => {
    const timeline = new StreamTimeline();
    expect(timeline.audioTime(0, 0, 40)).toBe(0);
    expect(timeline.audioTime(150, 150, 40)).toBe(40);
    expect(timeline.audioTime(400, 400, 40)).toBe(400);
    const slow = new StreamTimeline();
    const out = Array.from({ length: 40 }, (_, i) => slow.audioTime(i * 20, i * 20, 40));
    expect(out.every((at, i) => at >= (out[i - 1] ?? 0))).toBe(true);
    expect((out[39] ?? 0) - 39 * 20).toBeLessThanOrEqual(240);
  });

  it('continues without a gap after a restart, whatever the device clock', () => {
    const timeline = new StreamTimeline();
    video([0, 40, 80], undefined, timeline);
    timeline.restart();
    expect(video([5, 45], (i) => 60_000 + i * 40, timeline)).toEqual([120, 160]);
    expect(timeline.audioTime(15, 60_010, 20)).toBe(130);
  });

  it('follows arrival times in fast forward and rewind', () => {
    const timeline = new StreamTimeline();
    video([0, 40], undefined, timeline);
    timeline.restart('arrival');
    expect(video([10_000, 9360, 8720], (i) => 1000 + i * 40, timeline)).toEqual([80, 120, 160]);
    timeline.restart('device');
    expect(video([20_000, 20_100], (i) => 2000 + i * 5, timeline)).toEqual([200, 300]);
  });

  it('never goes back, whatever the input', () => {
    const step = fc.tuple(fc.boolean(), fc.oneof(fc.nat(200), fc.nat(0xffffffff)), fc.nat(100));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const timeline = new StreamTimeline();
        const last = { video: 0, audio: 0 };
        let now = 0;
        for (const [isVideo, timestamp, waitMs] of steps) {
          now += waitMs;
          const kind = isVideo ? 'video' : 'audio';
          const at = isVideo ? timeline.videoTime(timestamp, now) : timeline.audioTime(timestamp, now, 20);
          expect(at).toBeGreaterThanOrEqual(last[kind]);
          last[kind] = at;
        }
      }),
    );
  });
});

describe('DtsEstimator', () => {
  const derive = (pts: readonly number[], depth: number): { dts: number[]; composition: number[] } => {
    const deriver = new DtsEstimator();
    deriver.setReorderDepth(depth);
    const dts = pts.map((at) => deriver.nextDts(at, 40));
    return { dts, composition: pts.map((at, i) => at - (dts[i] ?? 0)) };
  };

  it('returns presentation times without B frames', () => {
    expect(derive([0, 40, 80], 0).dts).toEqual([0, 40, 80]);
  });

  it.each([
    ['I P B B', [1000, 1120, 1040, 1080, 1240, 1160, 1200, 1360, 1280, 1320], 1],
    ['a pyramid', [1000, 1160, 1080, 1040, 1120, 1320, 1240, 1200, 1280], 2],
  ])('returns increasing times with non-negative composition times: %s', (_case, pts, depth) => {
    const { dts, composition } = derive(pts, depth);
    expect(dts.every((at, i) => i === 0 || at > (dts[i - 1] ?? 0))).toBe(true);
    expect(Math.min(...composition)).toBeGreaterThanOrEqual(0);
    expect(dts.slice(depth)).toEqual([...pts].sort((a, b) => a - b).slice(0, pts.length - depth));
  });

  it('returns composition times of 0 when timestamps increase although B frames were declared', () => {
    const { composition } = derive(
      Array.from({ length: 60 }, (_, i) => 1000 + i * 40),
      2,
    );
    expect(composition.slice(-20)).toEqual(Array.from({ length: 20 }, () => 0));
  });
});

describe('TranscodeClock', () => {
  it('counts output frames from the time of the first input sample', () => {
    const clock = new TranscodeClock();
    clock.recordInput(500, 1000);
    expect([clock.nextOutputTime(16_000), clock.nextOutputTime(16_000), clock.nextOutputTime(16_000)]).toEqual([
      500, 564, 628,
    ]);
  });

  it('starts a new segment after an input gap of more than 200 ms', () => {
    const clock = new TranscodeClock();
    clock.recordInput(0, 64);
    clock.recordInput(100, 64);
    clock.recordInput(5000, 64);
    expect([clock.nextOutputTime(16_000), clock.nextOutputTime(16_000), clock.nextOutputTime(16_000)]).toEqual([
      0, 64, 5000,
    ]);
  });
});
