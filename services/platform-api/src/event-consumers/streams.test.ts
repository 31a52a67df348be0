import { publish, type StreamChanged, streamChanged, streamStatusEvent } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../testing/fake-terminals.ts';
import { LiveEventRecorder } from '../testing/live-event-recorder.ts';
import { type Client, PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

describe('live streams', () => {
  let harness: PlatformHarness;
  let api: Client;
  let liveEvents: LiveEventRecorder;

  beforeAll(async () => {
    harness = await PlatformHarness.open({
      PLATFORM_ROLES: 'api,websocket,telemetry',
      VIDEO_BASE_URL: 'https://video.fleet.example',
    });
    api = harness.as(harness.ours.owner);
    liveEvents = new LiveEventRecorder(harness);
  });
  afterAll(async () => {
    liveEvents.stop();
    await harness.close();
  });

  it('are published for the vehicle of their terminal only', async () => {
    const [imei, stranger] = [newImei(), newImei()];
    const made = await api.post('/api/vehicles', { vehicle_no: 'STREAM 1', imei });
    const { id } = made.data;
    const startedAtMs = Date.parse('2026-01-31T02:00:00Z');
    const running: StreamChanged = {
      ...streamStatusEvent({ imei, channel: 2 }, 'starting', 1),
      status: 'streaming',
      video: { codec: 'h264', width: 352, height: 288 },
      audioCodec: 'G.711A',
      viewers: 3,
      startedAtMs,
    };
    publish(harness.bus, streamChanged, streamStatusEvent({ imei: stranger, channel: 2 }, 'starting'));
    publish(harness.bus, streamChanged, streamStatusEvent({ imei, channel: 2 }, 'starting', 1));
    await waitFor(() => liveEvents.of('stream', id).length > 0);
    publish(harness.bus, streamChanged, { ...running, startId: 'the start' });
    await waitFor(() => liveEvents.of('stream', id).length > 1);
    const shared = {
      vehicle_id: id,
      imei,
      channel_id: 2,
      stream_type: 'LOW',
      stream_url: `https://video.fleet.example/${imei}/2/stream.flv`,
      ws_flv_url: `wss://video.fleet.example/${imei}/2/stream.flv`,
      hls_url: `https://video.fleet.example/${imei}/2/index.m3u8`,
      talk_url: null,
      token_expires_at: null,
      auto_stop_seconds: 60,
      kind: 'live',
      playback: null,
    };
    const nothing = {
      video_codec: null,
      audio_codec: null,
      width: null,
      height: null,
      viewers: 0,
      started_at: null,
      reason: null,
    };
    const something = { video_codec: 'h264', audio_codec: 'G.711A', width: 352, height: 288, viewers: 3, reason: null };
    expect(liveEvents.of('stream', id)).toEqual([
      { ...shared, ...nothing, status: 'starting', phase: 'connecting' },
      { ...shared, ...something, status: 'streaming', phase: 'streaming', started_at: '2026-01-31T02:00:00.000Z' },
    ]);
    const received = liveEvents.events.filter(({ type }) => type === 'stream');
    expect(received.map(({ startId }) => startId)).toEqual([undefined, 'the start']);
  });

  it('are published in order of arrival, with the time of the change', async () => {
    const imei = newImei();
    const { id } = (await api.post('/api/vehicles', { vehicle_no: 'STREAM 2', imei })).data;
    const atMs = Date.parse('2026-01-31T02:00:00Z');
    const expected = Array.from({ length: 60 }, (_each, viewers) => viewers);
    for (const viewers of expected)
      publish(harness.bus, streamChanged, {
        ...streamStatusEvent({ imei, channel: 1 }, 'starting'),
        viewers,
        atMs: atMs + viewers,
        order: { by: 'pod-1', sequence: viewers + 1 },
      });
    await waitFor(() => liveEvents.of('stream', id).length === expected.length);
    expect(liveEvents.of('stream', id).map(({ viewers }) => viewers)).toEqual(expected);
    const received = liveEvents.events.filter(({ type, vehicleId }) => type === 'stream' && vehicleId === id);
    expect(received.map((each) => each.atMs - atMs)).toEqual(expected);
    expect(received.map(({ order }) => order)).toEqual(expected.map((at) => ({ by: 'pod-1', sequence: at + 1 })));
  });
});
