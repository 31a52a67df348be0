import { describe, expect, it } from '@jest/globals';
import { toCameraTime, toEpochMs } from './camera-clock.ts';
import { createRecordings, isQueryMatch, type Recording, type RecordingQuery, selectSegments } from './recordings.ts';

const recording: Recording = {
  channel: 2,
  startTime: '2026-08-01T10:00:00',
  endTime: '2026-08-01T10:01:00',
  alarmFlags: 0x1_0000_0001n,
  mediaType: 0,
  streamType: 1,
  storageType: 1,
  fileSizeBytes: 1000,
};
const any: RecordingQuery = {
  channel: 0,
  startTime: null,
  endTime: null,
  alarmFlags: 0n,
  mediaType: 0,
  streamType: 0,
  storageType: 0,
};

describe('isQueryMatch', () => {
  it.each<[string, Partial<RecordingQuery>, boolean]>([
    ['everything', {}, true],
    ['its channel', { channel: 2 }, true],
    ['another channel', { channel: 1 }, false],
    ['an overlapping window', { startTime: '2026-08-01T10:00:59', endTime: '2026-08-01T11:00:00' }, true],
    ['a window that begins at its end', { startTime: '2026-08-01T10:01:00' }, false],
    ['a window that ends at its start', { endTime: '2026-08-01T10:00:00' }, false],
    ['a video alarm (upper half)', { alarmFlags: 0x1_0000_0000n }, true],
    ['another alarm', { alarmFlags: 0x2n }, false],
    ['audio only', { mediaType: 1 }, false],
    ['video only', { mediaType: 2 }, false],
    ['video with or without audio', { mediaType: 3 }, true],
    ['the sub stream', { streamType: 2 }, false],
    ['backup storage', { storageType: 2 }, false],
  ])('checks a recording against %s', (_case, query, expected) => {
    expect(isQueryMatch(recording, { ...any, ...query })).toBe(expected);
  });
});

describe('createRecordings', () => {
  const until = new Date('2026-08-01T04:00:00.900Z');
  const created = createRecordings({ channels: [1, 2], count: 20, seconds: 60, until, bitrateKbps: 500 });

  it("creates consecutive recordings, newest last, on the camera's clock", () => {
    expect(created).toHaveLength(40);
    const first = created.filter((one) => one.channel === 1);
    expect(first.at(-1)?.endTime).toBe('2026-08-01T12:00:00');
    expect(first.slice(1).map((one) => one.startTime)).toEqual(first.slice(0, -1).map((one) => one.endTime));
  });

  it('creates some with alarms and some without audio', () => {
    expect(created.filter((one) => one.alarmFlags !== 0n)).toHaveLength(4);
    expect(created.filter((one) => one.mediaType === 2)).toHaveLength(8);
  });
});

describe('selectSegments', () => {
  it('cuts recordings to the window and sorts them by time', () => {
    const later = { ...recording, startTime: '2026-08-01T10:05:00', endTime: '2026-08-01T10:06:00' };
    const query = { ...any, startTime: '2026-08-01T10:00:30', endTime: '2026-08-01T10:05:10' };
    expect(selectSegments([later, recording], query)).toEqual([
      { recording, fromMs: toEpochMs('2026-08-01T10:00:30'), toMs: toEpochMs('2026-08-01T10:01:00') },
      { recording: later, fromMs: toEpochMs('2026-08-01T10:05:00'), toMs: toEpochMs('2026-08-01T10:05:10') },
    ]);
  });

  it("uses the terminal's time zone", () => {
    const [utc] = selectSegments([recording], any, 0);
    expect(utc?.fromMs).toBe(Date.parse('2026-08-01T10:00:00Z'));
    expect(toCameraTime(Date.parse('2026-08-01T02:00:00Z'))).toBe('2026-08-01T10:00:00');
  });
});
