import { PayloadType } from '@fleet/jt1078';
import { type AccessUnit, flvToAnnexB } from '@fleet/jt1078/testing';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera, UdpCamera } from './testing/camera.ts';
import {
  type MediaHarness,
  randomImei,
  requestStream,
  signStreamUrl,
  startHarness,
  startService,
} from './testing/harness.ts';
import { decodeErrors, fetchStatus, isKeyFrame, Player, probeStreams } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  harness = await startHarness({ MEDIA_SILENCE_TIMEOUT_MS: '2000', MEDIA_GRACE_MS: '3000' });
});
afterAll(() => harness.stop());

/**
 * Returns reproducible pseudo-random bytes. After the four-byte start code, a few in a thousand other sequences would
 * be taken for a header and swallow the following data.
 */
function noise(bytes: number): Buffer {
  let state = 1;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state >>> 24;
  };
  return Buffer.from(Uint8Array.from({ length: bytes }, next));
}

const firstFrames = (testCamera: TestCamera, count: number): Buffer[] =>
  card.slice(0, count).flatMap((unit) => {
    const packets = testCamera.createVideoPackets(unit);
    testCamera.timestampMs += 40;
    return packets;
  });

describe('unsolicited camera', () => {
  it('is disconnected within a second of its first packet and never listed', async () => {
    const id = { kind: 'live', imei: randomImei(), channel: 1 } as const;
    const tookMs: number[] = [];
    for (let times = 0; times < 3; times += 1) {
      const camera = new TcpCamera(harness.service.livePort);
      const sentAtMs = performance.now();
      await camera.send(...firstFrames(new TestCamera(id), 3));
      await waitFor(() => camera.isClosed, 'the connection to close');
      tookMs.push((camera.closedAtMs ?? Number.POSITIVE_INFINITY) - sentAtMs);
    }
    // Best of three attempts, as a busy machine may delay any of them.
    expect(Math.min(...tookMs)).toBeLessThan(1_000);
    expect(await fetchStatus(harness.streamUrl(id))).toEqual({
      status: 404,
      body: { status: 404, error: expect.any(String) },
    });
    expect(await harness.redis.exists(`stream:live:{${id.imei}}:1`)).toBe(0);
  });

  it('is not admitted by a playback request or over UDP', async () => {
    const id = await harness.requestStream({ kind: 'history' });
    const camera = new UdpCamera(harness.service.livePort);
    await camera.send(...firstFrames(new TestCamera(id), 3));
    const tcp = new TcpCamera(harness.service.livePort);
    await tcp.send(...firstFrames(new TestCamera(id), 3));
    await waitFor(() => tcp.isClosed, 'the connection to close');
    expect(await harness.findStream({ ...id, kind: 'live' })).toBeUndefined();
    expect(await harness.redis.exists(`stream-request:history:{${id.imei}}:1`)).toBe(1);
    camera.close();
  });

  it('is disconnected when it sends nothing or another protocol', async () => {
    const silent = new TcpCamera(harness.service.livePort);
    const noisy = new TcpCamera(harness.service.livePort);
    await noisy.send(noise(100_000));
    await waitFor(() => silent.isClosed && noisy.isClosed, 'both connections to close');
    expect(await fetchStatus(`http://127.0.0.1:${harness.service.adminPort}/livez`)).toEqual({
      status: 200,
      body: null,
    });
  });
});

describe('camera input', () => {
  it('loses at most the frames that contain garbage', async () => {
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    await camera.send(...firstFrames(testCamera, 25));
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    await camera.send(Buffer.from('01cd'), noise(777));
    await camera.send(...card.slice(25, 75).flatMap((unit) => testCamera.createVideoPackets(unit)));
    await waitFor(() => player.video.length >= 74, 'the pictures after the garbage');
    expect(camera.isClosed).toBe(false);
    camera.close();
    player.close();
  });

  it('may follow a PROXY protocol header of a load balancer', async () => {
    const other = await startService({ POD_ID: `proxied-${randomImei()}`, PROXY_PROTOCOL_NETWORKS: '127.0.0.0/8' });
    const id = await harness.requestStream();
    const camera = new TcpCamera(other.livePort);
    await camera.send(Buffer.from('PROXY TCP4 203.0.113.9 10.0.0.1 50000 7078\r\n'));
    await camera.send(...firstFrames(new TestCamera(id), 25));
    const player = await Player.open(signStreamUrl(other, id, { audio: 'none' }));
    await waitFor(() => player.video.length === 25, 'pictures');
    expect(camera.isClosed).toBe(false);
    camera.close();
    player.close();
    await other.stop();
  });

  it('with 10-byte SIMs belongs to the same terminals', async () => {
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id, { simDigits: 20 });
    await camera.send(...firstFrames(testCamera, 25));
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    await waitFor(() => player.video.length === 25, 'pictures');
    expect(await harness.findStream(id)).toMatchObject({ videoFrames: 25 });
    camera.close();
    player.close();
  });

  it('reorders datagrams, and drops frames after a loss until the next key frame', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new UdpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    const packets = firstFrames(testCamera, 25);
    for (let i = 0; i + 1 < packets.length; i += 2)
      [packets[i], packets[i + 1]] = [packets[i + 1] ?? Buffer.alloc(0), packets[i] ?? Buffer.alloc(0)];
    await camera.send(...packets);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length === 25, 'every picture');
    const rest = card.slice(25).flatMap((unit) => {
      testCamera.timestampMs += 40;
      return testCamera.createVideoPackets(unit);
    });
    const lost = rest.splice(1, 1);
    await camera.send(...rest);
    await waitFor(async () => (await harness.findStream(id))?.lostPackets === lost.length, 'the loss to be counted');
    await waitFor(() => player.video.length === 50, 'the next group of pictures');
    expect(await decodeErrors(player.flv)).toBe('');
    camera.close();
    player.close();
  });

  it('drops packets repeated over TCP, immediately or after a few others', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const packets = firstFrames(new TestCamera(id), 25);
    const repeated = packets.flatMap((packet, at) =>
      at % 7 === 3 ? [packet, packet] : at % 7 === 6 ? [packet, packets[at - 2] ?? packet] : [packet],
    );
    await camera.send(...repeated);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length === 25, 'every picture');
    expect(await harness.findStream(id)).toMatchObject({ videoFrames: 25, lostPackets: 0 });
    expect(await decodeErrors(player.flv)).toBe('');
    camera.close();
    player.close();
  });

  it('with several channels on one connection becomes several streams', async () => {
    const first = await harness.requestStream({ channel: 1 });
    const second = { ...first, channel: 2 };
    await requestStream(harness.redis, second);
    const camera = new TcpCamera(harness.service.livePort);
    const voices = [new TestCamera(first), new TestCamera(second)];
    const sendBoth = async (unit: AccessUnit): Promise<void> => {
      for (const testCamera of voices) {
        await camera.send(...testCamera.createVideoPackets(unit));
        testCamera.timestampMs += 40;
      }
    };
    for (const unit of card.slice(0, 50)) await sendBoth(unit);
    const players = await Promise.all(
      [first, second].map((id) => Player.open(harness.streamUrl(id, { audio: 'none' }))),
    );
    await waitFor(() => players.every((player) => player.video.length >= 25), 'pictures of both streams');
    const [firstUnit] = card;
    if (firstUnit === undefined) throw new Error('the test card is empty');
    // An unsolicited third channel does not affect them.
    await camera.send(...new TestCamera({ ...first, channel: 3 }).createVideoPackets(firstUnit));
    const videoCount = players.map((player) => player.video.length);
    for (const unit of card.slice(50)) await sendBoth(unit);
    await waitFor(
      () => players.every((player, i) => player.video.length === 25 + (videoCount[i] ?? 0)),
      'more pictures of both streams',
    );
    expect(camera.isClosed).toBe(false);
    camera.close();
    for (const player of players) player.close();
  });

  it('in H.265 becomes enhanced tags, or codec id 12 with hevc=legacy', async () => {
    const hevc = await createTestCard({ seconds: 2, codec: 'h265' });
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    for (const unit of hevc) {
      await camera.send(...testCamera.createVideoPackets(unit, PayloadType.H265));
      testCamera.timestampMs += 40;
    }
    const enhanced = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const legacy = await Player.open(harness.streamUrl(id, { audio: 'none', hevc: 'legacy' }));
    await waitFor(() => enhanced.video.length > 20 && legacy.video.length > 20, 'pictures');
    expect(enhanced.videoHeaders[0]?.body.toString('latin1', 0, 5)).toBe('\x90hvc1');
    expect(legacy.videoHeaders[0]?.body.toString('hex', 0, 2)).toBe('1c00');
    for (const player of [enhanced, legacy]) {
      const { codec, data } = flvToAnnexB(player.flv);
      expect(codec).toBe('h265');
      expect(await decodeErrors(data, 'hevc')).toBe('');
      expect(await probeStreams(data, 'hevc')).toMatchObject([{ codec_name: 'hevc', width: 320, height: 240 }]);
      player.close();
    }
    camera.close();
  });

  it('with a new resolution in mid-stream gets a new sequence header', async () => {
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    await camera.send(...firstFrames(testCamera, 25));
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const larger = await createTestCard({ seconds: 1, size: '640x360' });
    for (const unit of larger) {
      await camera.send(...testCamera.createVideoPackets(unit));
      testCamera.timestampMs += 40;
    }
    await waitFor(() => player.video.length === 50, 'all pictures');
    expect(player.videoHeaders).toHaveLength(2);
    const [, second] = player.videoHeaders;
    expect(isKeyFrame(player.tags[player.tags.indexOf(second as never) + 1] as never)).toBe(true);
    const { data } = flvToAnnexB(player.flv);
    expect(await decodeErrors(data, 'h264')).toBe('');
    camera.close();
    player.close();
  });
});

describe('reconnecting camera', () => {
  it('continues for its viewers with the same response, a new sequence header and a continuous clock', async () => {
    const id = await harness.requestStream();
    const first = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    const before = startStreaming(first, testCamera, card);
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    await waitFor(() => player.video.length > 30, 'pictures');
    before.stop();
    first.socket.destroy();
    const framesBefore = player.video.length;

    const second = new TcpCamera(harness.service.livePort);
    // The terminal has restarted its clock and its counter.
    const after = startStreaming(second, new TestCamera(id), card);
    await waitFor(() => player.video.length > framesBefore + 30, 'pictures of the new connection');
    after.stop();
    expect(player.ending).toBeNull();
    expect(player.videoHeaders).toHaveLength(2);
    const times = player.video.map((tag) => tag.timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeLessThan(10_000);
    expect(await decodeErrors(player.flv)).toBe('');
    second.close();
    player.close();
  });

  it('takes its stream over from a connection that is still open', async () => {
    const id = await harness.requestStream();
    const first = new TcpCamera(harness.service.livePort);
    const before = startStreaming(first, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const second = new UdpCamera(harness.service.livePort);
    await second.send(...firstFrames(new TestCamera(id), 25));
    await waitFor(() => first.isClosed, 'the old connection to close');
    expect(await harness.findStream(id)).toMatchObject({ transport: 'udp', reconnects: 1 });
    expect(player.ending).toBeNull();
    before.stop();
    second.close();
    player.close();
  });

  it('ends its viewers when it does not return', async () => {
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    await camera.send(...firstFrames(new TestCamera(id), 25));
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    camera.close();
    await waitFor(() => player.ending === 'complete', 'the end of the response');
    expect(await fetchStatus(harness.streamUrl(id))).toMatchObject({ status: 404 });
    expect(await harness.redis.exists(`stream:live:{${id.imei}}:1`)).toBe(0);
  });

  it('on another pod ends the stream here without touching the new claim', async () => {
    const other = await startService({ POD_ID: `${harness.podId}-b` });
    const id = await harness.requestStream();
    const camera = new TcpCamera(harness.service.livePort);
    const here = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id, { audio: 'none' }));
    const elsewhere = new TcpCamera(other.livePort);
    const otherFeed = startStreaming(elsewhere, new TestCamera(id), card);
    await waitFor(() => player.ending === 'complete', 'the end of the response here');
    await waitFor(() => camera.isClosed, 'the connection here to close');
    const claim = JSON.parse((await harness.redis.get(`stream:live:{${id.imei}}:1`)) ?? '{}') as { url: string };
    expect(claim.url).toBe(`http://127.0.0.1:${other.httpPort}`);
    expect(elsewhere.isClosed).toBe(false);
    here.stop();
    otherFeed.stop();
    elsewhere.close();
    await other.stop();
  });
});
