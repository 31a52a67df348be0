import { decodeBody, queryResourceList, resourceList } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { toCameraTime, toEpochMs } from './camera-clock.ts';
import { createDemoTerminal } from './demo-terminal.ts';
import { Recorder, type RecorderOptions } from './recorder.ts';
import { type Recording, selectSegments } from './recordings.ts';
import { SimulatedTerminal } from './terminal.ts';
import { TestPlatform } from './testing/test-platform.ts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const startMs = Date.parse('2026-08-01T04:00:00Z');
const options: RecorderOptions = {
  channels: [1, 2],
  count: 60,
  seconds: 60,
  bitrateKbps: 500,
  retentionMs: dayMs,
  startedAt: new Date(startMs + 900),
};
const first = (recordings: readonly Recording[]) => recordings.filter(({ channel }) => channel === 1);

describe('continuously recording camera', () => {
  it('adds one file for each elapsed minute, without a gap', () => {
    const recordings: Recording[] = [];
    const recorder = new Recorder(options);
    recorder.update(recordings, startMs);
    expect(recordings).toHaveLength(120);
    expect(recordings.at(-1)?.endTime).toBe('2026-08-01T12:00:00');
    recorder.update(recordings, startMs + 59_999);
    expect(recordings).toHaveLength(120);
    recorder.update(recordings, startMs + 10 * minuteMs);
    expect(recordings).toHaveLength(140);
    const times = first(recordings);
    expect(times.at(-1)?.endTime).toBe('2026-08-01T12:10:00');
    expect(times.slice(1).map(({ startTime }) => startTime)).toEqual(times.slice(0, -1).map(({ endTime }) => endTime));
  });

  it('plays and uploads recordings made since the start', () => {
    const recordings: Recording[] = [];
    new Recorder(options).update(recordings, startMs + 30 * minuteMs);
    const window = { startTime: toCameraTime(startMs + 20 * minuteMs), endTime: toCameraTime(startMs + 21 * minuteMs) };
    const query = { channel: 1, ...window, alarmFlags: 0n, mediaType: 3, streamType: 0, storageType: 0 };
    const [stretch, ...more] = selectSegments(recordings, query);
    expect(more).toEqual([]);
    expect(stretch).toMatchObject({ fromMs: toEpochMs(window.startTime), toMs: toEpochMs(window.endTime) });
  });

  it('removes its oldest file after a day', () => {
    const recordings: Recording[] = [];
    const recorder = new Recorder(options);
    const oldestEndMs = startMs - 59 * minuteMs;
    recorder.update(recordings, oldestEndMs + dayMs - 1);
    const full = recordings.length;
    expect(recordings[0]?.endTime).toBe(toCameraTime(oldestEndMs));
    recorder.update(recordings, oldestEndMs + dayMs);
    expect(recordings[0]?.endTime).toBe(toCameraTime(oldestEndMs + minuteMs));
    recorder.update(recordings, startMs + 3 * dayMs);
    expect(recordings).toHaveLength(2 * 24 * 60);
    expect(full).toBe(recordings.length);
  });

  it('lists the last minutes on request', async () => {
    const platform = await new TestPlatform().listen();
    const phone = '013800138001';
    const recorder = { ...options, channels: [1], count: 2, startedAt: new Date(Date.now() - 10 * minuteMs) };
    const terminal = new SimulatedTerminal({
      host: '127.0.0.1',
      port: platform.port,
      phone,
      reportIntervalMs: 0,
      recorder,
    });
    try {
      terminal.start();
      await terminal.waitUntilOnline();
      const window = { startTime: toCameraTime(Date.now() - 5 * minuteMs), endTime: null };
      const any = { channel: 1, alarmFlags: 0n, mediaType: 3, streamType: 0, storageType: 0 };
      platform.sendCommand(phone, queryResourceList, { ...any, ...window });
      const { body } = await platform.waitForFrame(0x1205);
      expect(decodeBody(resourceList, body).items.length).toBeGreaterThanOrEqual(5);
    } finally {
      await terminal.stop();
      await platform.close();
    }
  });
});

it('a demo vehicle records from its start and retains a day, or as much as it had at the start', () => {
  const demo = (recordings: number) =>
    createDemoTerminal(
      { host: '127.0.0.1', port: 1, phone: '013800138001' },
      { channels: 2, video: 'h264', audio: 'g711a', cacheDir: 'none', recordings, index: 0 },
    );
  expect(demo(60).options.recorder).toMatchObject({ channels: [1, 2], count: 60, seconds: 60, retentionMs: dayMs });
  expect(demo(60).recordings).toHaveLength(120);
  expect(demo(2880).options.recorder?.retentionMs).toBe(2 * dayMs);
  expect(demo(0).recordings).toEqual([]);
});
