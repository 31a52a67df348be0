import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  liveStreamControl,
  liveStreamRequest,
  playbackControl,
  playbackRequest,
  queryAvAttributes,
} from '@fleet/jt808';
import { monitorEventLoopLag, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createCameraClips } from '../camera-clips.ts';
import { toCameraTime } from '../camera-clock.ts';
import { createRecordings, type Recording } from '../recordings.ts';
import { SimulatedTerminal } from '../terminal.ts';
import type { ClipProvider, TerminalOptions } from '../terminal-options.ts';
import { MediaSink } from '../testing/media-sink.ts';
import { TestPlatform } from '../testing/test-platform.ts';
import type { SentFrame, StreamRecord } from './stream-record.ts';

const terminalPhone = '013800138001';
const specs = {
  main: { width: 320, height: 240, fps: 25, gop: 10, seconds: 1, bitrateKbps: 1500 },
  sub: { width: 160, height: 120, fps: 10, gop: 5, seconds: 1 },
};
// ffmpeg starts slowly on a busy machine.
jest.setTimeout(60_000);

let cacheDir: string;
let clips: ClipProvider;
let platform: TestPlatform;
let sink: MediaSink;
let terminal: SimulatedTerminal;

beforeAll(async () => {
  cacheDir = await mkdtemp(path.join(os.tmpdir(), 'clips-'));
  clips = createCameraClips(terminalPhone, { cacheDir }, specs);
  await Promise.all([clips(1, 'main'), clips(1, 'sub')]);
});

afterAll(() => rm(cacheDir, { recursive: true }));

beforeEach(async () => {
  platform = await new TestPlatform().listen();
  sink = await new MediaSink().listen();
  await startTerminal({});
});

afterEach(async () => {
  await terminal.stop();
  await Promise.all([platform.close(), sink.close()]);
});

async function startTerminal(options: Partial<TerminalOptions>): Promise<void> {
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: terminalPhone,
    channels: 1,
    clips,
    reportIntervalMs: 0,
    reconnect: { minMs: 10, maxMs: 50 },
    ...options,
  });
  terminal.start();
  await terminal.waitUntilOnline();
}

async function restartTerminal(options: Partial<TerminalOptions>): Promise<void> {
  await terminal.stop();
  await startTerminal(options);
}

const live = { serverIp: '127.0.0.1', channel: 1, dataType: 0, streamType: 0 };

function startLive(body: Partial<typeof live> & { udp?: boolean } = {}): void {
  const { udp = false, ...rest } = body;
  const ports = { tcpPort: udp ? 0 : sink.tcpPort, udpPort: udp ? sink.udpPort : 0 };
  platform.sendCommand(terminalPhone, liveStreamRequest, { ...live, ...ports, ...rest });
}

async function latestRecord(): Promise<StreamRecord> {
  await waitFor(() => terminal.cameras.records.length > 0, 'stream');
  const latest = terminal.cameras.records.at(-1);
  if (latest === undefined) throw new Error('no stream');
  return latest;
}

const frameHashes = (frames: readonly (SentFrame | { sha256: string })[]): string[] =>
  frames.map((frame) => frame.sha256);

describe('live (0x9101)', () => {
  it.each([
    ['TCP', false],
    ['UDP', true],
  ])(
    '%s: the server receives the frames that were sent, picture by picture and audio frame by audio frame',
    async (_name, udp) => {
      startLive({ udp });
      await waitFor(() => sink.framesOfKind('video').length >= 38, 'a second and a half of video');
      platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 0, closeType: 0, streamType: 0 });
      const stream = await latestRecord();
      await waitFor(() => stream.state === 'ended', 'end');
      await waitFor(() => sink.framesOfKind('video').length === stream.sentVideoFrames.length, 'all frames');
      expect(frameHashes(sink.framesOfKind('video'))).toEqual(frameHashes(stream.sentVideoFrames));
      expect(frameHashes(sink.framesOfKind('audio'))).toEqual(frameHashes(stream.sentAudioFrames));
      expect(stream).toMatchObject({ kind: 'live', protocol: udp ? 'udp' : 'tcp', endReason: 'stopped' });
      const clip = await clips(1, 'main');
      expect(stream.sentVideoFrames.map((frame) => frame.clipIndex)).toEqual(
        stream.sentVideoFrames.map((_frame, index) => index % clip.videoFrames.length),
      );
      expect(sink.frames[0]).toMatchObject({ sim: terminalPhone, channel: 1 });
    },
  );

  it('numbers packets in one sequence, none longer than 950 bytes', async () => {
    startLive();
    await waitFor(() => sink.framesOfKind('video').length >= 12, 'video');
    const sequences = sink.packets.map((packet) => packet.sequence);
    expect(sequences).toEqual(sequences.map((_sequence, index) => index));
    expect(Math.max(...sink.packets.map((packet) => packet.bodyBytes))).toBe(950);
  });

  it('increases timestamps across the loop, in real time', async () => {
    const longestPause = monitorEventLoopLag();
    startLive();
    await waitFor(() => sink.framesOfKind('video').length >= 30, 'more than one loop');
    const pauseMs = longestPause();
    const times = sink.framesOfKind('video').map((frame) => frame.timestampMs);
    const steps = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    // The clock skips more than two seconds only if the machine itself stood still for that time.
    const isPause = (stepMs: number): boolean => stepMs > 2_000 && stepMs <= pauseMs + 100;
    expect(steps.filter((stepMs) => Math.abs(stepMs - 40) > 1 && !isPause(stepMs))).toEqual([]);
  });

  it('sends 10-byte SIMs for a 2019 terminal', async () => {
    await terminal.stop();
    await platform.close();
    platform = await new TestPlatform('2019').listen();
    const phone = '00000000013800138003';
    await startTerminal({ phone });
    const ports = { tcpPort: sink.tcpPort, udpPort: 0 };
    platform.sendCommand(phone, liveStreamRequest, { ...live, ...ports });
    await waitFor(() => sink.framesOfKind('video').length >= 2, 'video');
    expect(sink.frames[0]?.sim).toBe(phone);
  });

  it('switches to the sub stream at a key frame', async () => {
    startLive();
    await waitFor(() => sink.framesOfKind('video').length >= 3, 'video');
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 1, closeType: 0, streamType: 1 });
    const stream = await latestRecord();
    const { key } = await clips(1, 'sub');
    const isSubFrame = (): SentFrame[] => stream.sentVideoFrames.filter((frame) => frame.clipKey === key);
    await waitFor(() => isSubFrame().length >= 3, 'sub stream');
    expect(isSubFrame()[0]).toMatchObject({ clipIndex: 0, isKeyFrame: true });
    expect(sink.connections).toBe(1);
  });

  it('pauses, and continues with a key frame on the same connection', async () => {
    startLive();
    await waitFor(() => sink.framesOfKind('video').length >= 3, 'video');
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 2, closeType: 0, streamType: 0 });
    const stream = await latestRecord();
    await waitFor(() => stream.state === 'paused', 'pause');
    const before = stream.sentVideoFrames.length;
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 3, closeType: 0, streamType: 0 });
    await waitFor(() => stream.sentVideoFrames.length > before, 'resumed');
    expect(stream.sentVideoFrames[before]?.isKeyFrame).toBe(true);
    expect(sink.connections).toBe(1);
  });

  it('stops the audio alone, then the video', async () => {
    startLive();
    await waitFor(() => sink.framesOfKind('audio').length >= 2, 'sound');
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 0, closeType: 1, streamType: 0 });
    await waitFor(() => platform.framesWithId(0x0001).length === 2, 'response');
    const stream = await latestRecord();
    const [audio, video] = [stream.sentAudioFrames.length, stream.sentVideoFrames.length];
    await waitFor(() => stream.sentVideoFrames.length > video + 5, 'more video');
    expect(stream.sentAudioFrames.length - audio).toBeLessThanOrEqual(1);
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 0, closeType: 2, streamType: 0 });
    await waitFor(() => sink.closedConnections === 1, 'closed');
  });

  it('sends video only or audio only if requested', async () => {
    startLive({ dataType: 1 });
    await waitFor(() => sink.framesOfKind('video').length >= 5, 'video');
    expect(sink.framesOfKind('audio')).toEqual([]);
    startLive({ dataType: 3 });
    await waitFor(() => sink.framesOfKind('audio').length >= 5, 'audio');
    expect(terminal.cameras.records.map((one) => one.endReason)).toEqual(['replaced', null]);
  });

  it('records a failed connection, and refuses to control a stream that is not running', async () => {
    platform.sendCommand(terminalPhone, liveStreamRequest, { ...live, tcpPort: 1, udpPort: 0 });
    const stream = await latestRecord();
    await waitFor(() => stream.state === 'ended', 'failure');
    expect(stream.endReason).toMatch(/^connectFailed: .*ECONNREFUSED/);
    platform.sendCommand(terminalPhone, liveStreamControl, { channel: 1, control: 2, closeType: 0, streamType: 0 });
    await waitFor(() => platform.framesWithId(0x0001).length === 2, 'response');
    expect(platform.framesWithId(0x0001).map((frame) => frame.body[4])).toEqual([0, 1]);
  });

  it('can accept without connecting, or connect without sending', async () => {
    await restartTerminal({ media: 'connectSilently' });
    startLive();
    await waitFor(() => sink.connections === 1, 'connection');
    await restartTerminal({ media: 'neverConnect' });
    startLive();
    await waitFor(() => platform.framesWithId(0x0001).length === 2, 'response');
    expect(sink.frames).toEqual([]);
    expect(sink.connections).toBe(1);
  });

  it('reports its codecs (0x9003)', async () => {
    platform.sendCommand(terminalPhone, queryAvAttributes, {});
    const { body } = await platform.waitForFrame(0x1003);
    expect([body[0], body[7], body[9]]).toEqual([6, 98, 1]);
  });
});

describe('playback (0x9201)', () => {
  const until = new Date('2026-08-01T04:00:00Z');
  let recordings: Recording[];

  beforeEach(async () => {
    recordings = createRecordings({ channels: [1], count: 3, seconds: 2, until, bitrateKbps: 500 });
    await restartTerminal({ recordings, playbackResponse: 'general' });
  });

  const window = { startTime: toCameraTime(until.getTime() - 6000), endTime: toCameraTime(until.getTime()) };
  const request = { serverIp: '127.0.0.1', udpPort: 0, channel: 1, mediaType: 0, streamType: 0, storageType: 0 };

  function play(body: { playbackMode: number; speed: number; startTime?: string; endTime?: string | null }): void {
    platform.sendCommand(terminalPhone, playbackRequest, { ...request, ...window, tcpPort: sink.tcpPort, ...body });
  }

  it('plays three recordings at four times the speed, then closes the connection', async () => {
    play({ playbackMode: 1, speed: 3 });
    await waitFor(() => sink.closedConnections === 1, 'end of the recording');
    const stream = await latestRecord();
    expect(stream.endReason).toBe('endOfRecording');
    expect(stream.sentVideoFrames).toHaveLength(150);
    expect(frameHashes(sink.framesOfKind('video'))).toEqual(frameHashes(stream.sentVideoFrames));
    expect(sink.framesOfKind('audio')).toEqual([]);
    const times = sink.framesOfKind('video').map((frame) => frame.timestampMs);
    expect(times[0]).toBe(until.getTime() - 6000);
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBe(6000 - 40);
  });

  it('drops no frame however slowly the server reads', async () => {
    await restartTerminal({ recordings, unpacedPlayback: true, playbackResponse: 'list' });
    play({ playbackMode: 0, speed: 0 });
    await waitFor(() => sink.closedConnections === 1, 'end of the recording');
    const stream = await latestRecord();
    expect(frameHashes(sink.framesOfKind('video'))).toEqual(frameHashes(stream.sentVideoFrames));
    expect(frameHashes(sink.framesOfKind('audio'))).toEqual(frameHashes(stream.sentAudioFrames));
    expect(stream.sentVideoFrames).toHaveLength(150);
    expect(stream.sentAudioFrames).toHaveLength(150);
    expect((await platform.waitForFrame(0x1205)).body.readUInt32BE(2)).toBe(3);
  });

  it('sends only key frames, in reverse order, in rewind mode', async () => {
    play({ playbackMode: 2, speed: 5 });
    await waitFor(() => sink.closedConnections === 1, 'end of the recording');
    const stream = await latestRecord();
    const times = stream.sentVideoFrames.map((frame) => frame.timestampMs);
    expect(stream.sentVideoFrames.every((frame) => frame.isKeyFrame)).toBe(true);
    expect(times.length).toBeGreaterThanOrEqual(12);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
  });

  it('sends one picture in single-frame mode', async () => {
    play({ playbackMode: 4, speed: 0, startTime: toCameraTime(until.getTime() - 3000) });
    await waitFor(() => sink.closedConnections === 1, 'end');
    expect(sink.framesOfKind('video')).toHaveLength(1);
  });

  it('pauses, seeks to a key frame, continues and stops', async () => {
    play({ playbackMode: 0, speed: 0 });
    await waitFor(() => sink.framesOfKind('video').length >= 3, 'video');
    const control = { channel: 1, speed: 0, seekTime: null };
    platform.sendCommand(terminalPhone, playbackControl, { ...control, control: 1 });
    const stream = await latestRecord();
    await waitFor(() => stream.state === 'paused', 'pause');
    platform.sendCommand(terminalPhone, playbackControl, { ...control, control: 0 });
    await waitFor(() => stream.state === 'streaming', 'playing');
    const before = stream.sentVideoFrames.length;
    const seekMs = until.getTime() - 1000;
    platform.sendCommand(terminalPhone, playbackControl, { ...control, control: 5, seekTime: toCameraTime(seekMs) });
    await waitFor(() => (stream.sentVideoFrames.at(-1)?.timestampMs ?? 0) >= seekMs - 400, 'after the seek');
    const hasLanded = stream.sentVideoFrames.slice(before).find((frame) => frame.timestampMs >= seekMs - 400);
    expect(hasLanded?.isKeyFrame).toBe(true);
    platform.sendCommand(terminalPhone, playbackControl, { ...control, control: 2 });
    await waitFor(() => sink.closedConnections === 1, 'closed');
    expect(stream.endReason).toBe('stopped');
  });

  it.each([
    [2, 2],
    [4, 8],
    [5, 16],
  ])('speed %i plays %i times as fast as recorded, with every picture at its recorded time', async (speed, times) => {
    const startedAt = performance.now();
    play({ playbackMode: 1, speed });
    await waitFor(() => sink.closedConnections === 1, 'end of the recording');
    // It must never be faster; how much slower depends on the machine.
    expect(performance.now() - startedAt).toBeGreaterThan(6000 / times - 40);
    const recorded = sink.framesOfKind('video').map((frame) => frame.timestampMs - until.getTime() + 6000);
    expect(recorded).toEqual(Array.from({ length: 150 }, (_unused, index) => index * 40));
  });

  it('sends only key frames, at their recorded times, in mode 3', async () => {
    await restartTerminal({ recordings, playbackResponse: 'general', unpacedPlayback: true });
    play({ playbackMode: 3, speed: 0 });
    await waitFor(() => sink.closedConnections === 1, 'end of the recording');
    const stream = await latestRecord();
    expect(stream.sentVideoFrames.every((frame) => frame.isKeyFrame)).toBe(true);
    const times = sink.framesOfKind('video').map((frame) => frame.timestampMs - until.getTime() + 6000);
    expect(times[0]).toBe(0);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times).toHaveLength(stream.sentVideoFrames.length);
    expect(sink.framesOfKind('audio')).toEqual([]);
  });

  it('switches to rewind, key frames and fast forward, each from the current position', async () => {
    // Two minutes, of which twenty seconds are played first: at sixteen times the speed, the rewind must not reach the
    // start before the next control.
    const long = createRecordings({ channels: [1], count: 3, seconds: 40, until, bitrateKbps: 500 });
    await restartTerminal({ recordings: long, playbackResponse: 'general' });
    play({ playbackMode: 1, speed: 5, startTime: toCameraTime(until.getTime() - 120_000) });
    await waitFor(() => sink.framesOfKind('video').length >= 500, 'twenty seconds');
    const control = { channel: 1, speed: 5, seekTime: null };
    const stream = await latestRecord();
    const sendControl = async (how: number): Promise<number> => {
      const responses = platform.framesWithId(0x0001).length;
      platform.sendCommand(terminalPhone, playbackControl, { ...control, control: how });
      await waitFor(() => platform.framesWithId(0x0001).length > responses, 'response');
      // Frames sent before the response still belong to the previous mode.
      const sent = stream.sentVideoFrames.length;
      await waitFor(() => stream.sentVideoFrames.length > sent + 2, 'pictures');
      return sent;
    };
    const rewound = stream.sentVideoFrames.slice(await sendControl(4)).map((frame) => frame.timestampMs);
    expect(rewound.at(-1)).toBeLessThan(rewound[0] ?? 0);
    const keyFrames = stream.sentVideoFrames.slice((await sendControl(6)) + 1);
    expect(keyFrames.every((frame) => frame.isKeyFrame)).toBe(true);
    const fast = stream.sentVideoFrames.slice((await sendControl(3)) + 1).map((frame) => frame.timestampMs);
    expect((fast[1] ?? 0) - (fast[0] ?? 0)).toBe(40);
    expect(sink.connections).toBe(1);
  });

  it('sends the picture of a given time in single-frame mode, with its own timestamp', async () => {
    play({ playbackMode: 4, speed: 0, startTime: toCameraTime(until.getTime() - 3000), endTime: null });
    await waitFor(() => sink.closedConnections === 1, 'end');
    expect(sink.framesOfKind('video').map((frame) => frame.timestampMs)).toEqual([until.getTime() - 3000]);
  });

  it('refuses a time window without recordings', async () => {
    play({ playbackMode: 0, speed: 0, startTime: '2020-01-01T00:00:00', endTime: '2020-01-02T00:00:00' });
    const response = await platform.waitForFrame(0x0001);
    expect(response.body[4]).toBe(1);
    expect(sink.connections).toBe(0);
  });
});
