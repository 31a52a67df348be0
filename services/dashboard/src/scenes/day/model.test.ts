import { describe, expect, it } from '@jest/globals';
import { type Fix, findFix, formatDuration, toStateSegments } from './model.ts';

const minuteMs = 60_000;
const day = { fromMs: 0, toMs: 1_440 * minuteMs };
const fixAt = (minute: number, state: Fix['state'] = 'moving'): Fix =>
  ({ timestamp: minute * minuteMs, state, speed: 50 }) as Fix;

const shapeOf = (fixes: readonly Fix[], nowMinute: number) =>
  toStateSegments(fixes, day, nowMinute * minuteMs).map(({ style, fromMs, toMs }) => [
    style,
    fromMs / minuteMs,
    toMs / minuteMs,
  ]);

describe('the states of a day', () => {
  it('join equal reports, and are offline before the first report and in gaps', () => {
    const fixes = [fixAt(60), fixAt(61), fixAt(62, 'idle'), fixAt(63), fixAt(120, 'stopped'), fixAt(121, 'stopped')];
    expect(shapeOf(fixes, 1_440)).toEqual([
      ['offline', 0, 60],
      ['moving', 60, 62],
      ['idle', 62, 63],
      ['offline', 63, 120],
      ['stopped', 120, 121],
      ['offline', 121, 1_440],
    ]);
  });

  it('end now on the current day, and cover a day without reports', () => {
    expect(shapeOf([fixAt(60)], 65)).toEqual([
      ['offline', 0, 60],
      ['moving', 60, 65],
    ]);
    expect(shapeOf([], 65)).toEqual([['offline', 0, 65]]);
  });
});

describe('the report at a time', () => {
  it('is the newest one before it', () => {
    const fixes = [fixAt(1), fixAt(2), fixAt(5)];
    const minuteOf = (minute: number) => findFix(fixes, minute * minuteMs)?.timestamp;
    expect([0, 1, 1.5, 4, 5, 99].map(minuteOf)).toEqual(
      [undefined, 1, 1, 2, 5, 5].map((minute) => (minute === undefined ? undefined : minute * minuteMs)),
    );
  });
});

describe('a duration', () => {
  it('has hours and minutes', () => {
    expect([24 * minuteMs, 125 * minuteMs].map(formatDuration)).toEqual(['0:24', '2:05']);
  });
});
