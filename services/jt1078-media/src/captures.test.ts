import { existsSync, readFileSync } from 'node:fs';
import { type MediaPacket, PacketSplitter } from '@fleet/jt1078';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { TcpCamera, UdpCamera } from './testing/camera.ts';
import { type MediaHarness, requestStream, startHarness } from './testing/harness.ts';
import { decodeErrors, Player, probeStreams } from './testing/player.ts';

interface Capture {
  file: string;
  sim: string;
  sim_bytes: 6 | 10;
  channel: number;
  video: {
    width: number;
    height: number;
    decoded_frames_from_first_keyframe: number;
    first_timestamp: number;
    last_timestamp: number;
  };
  audio: { codec: string } | null;
}

jest.setTimeout(60_000);

const directory = new URL('../../../../shared/protocol/jt1078-captures/', import.meta.url);
const hasCaptures = existsSync(directory);
if (!hasCaptures) console.log('skipping the capture tests: no captures in ../shared');
const captures = hasCaptures
  ? (JSON.parse(readFileSync(new URL('manifest.json', directory), 'utf8')) as { captures: Capture[] }).captures
  : [];
const describeCaptures = hasCaptures ? describe : describe.skip;

/** Splits a capture into its packets, each with its header, as datagrams carry them. */
function splitPackets(bytes: Buffer): Buffer[] {
  const lengths: number[] = [];
  const splitter = new PacketSplitter({
    onPacket: (packet: MediaPacket) => lengths.push(packet.headerBytes + packet.body.length),
  });
  splitter.push(bytes);
  splitter.flush();
  let at = 0;
  return lengths.map((length) => bytes.subarray(at, (at += length)));
}

describeCaptures('captures of real devices', () => {
  let harness: MediaHarness;
  beforeAll(async () => {
    harness = await startHarness({ MEDIA_GRACE_MS: '800' });
  });
  afterAll(() => harness.stop());

  const cases = captures.flatMap((capture) => (['tcp', 'udp'] as const).map((way) => ({ ...capture, way })));
  it.each(cases)(
    'play $file over $way as described in its manifest',
    async ({ file, sim, channel, video, audio, way }) => {
      const bytes = readFileSync(new URL(file, directory));
      const id: StreamId = { kind: 'live', imei: sim.replace(/^0+/, ''), channel };
      await requestStream(harness.redis, id);
      const opening = Player.open(harness.streamUrl(id));
      const packets = splitPackets(bytes);
      const camera = way === 'tcp' ? new TcpCamera(harness.service.livePort) : new UdpCamera(harness.service.livePort);
      // The rest is sent much faster than real time, so the viewer must be connected first.
      await camera.send(...packets.slice(0, 2));
      await waitFor(async () => (await harness.findStream(id))?.viewers === 1, 'the viewer');
      await camera.send(...packets.slice(2));
      const player = await opening;
      const frames = video.decoded_frames_from_first_keyframe;
      await waitFor(() => player.video.length >= frames, `${frames} pictures`);
      if (audio !== null) await waitFor(() => player.audio.length > 2, 'audio');
      camera.close();
      if (way === 'udp') player.close();
      else await waitFor(() => player.ending === 'complete', 'the end of the response');
      await waitFor(async () => {
        if (way === 'udp') harness.bus.nc.publish(`media.${harness.podId}.control`, ended(id));
        return (await harness.redis.exists(`stream:live:{${id.imei}}:${id.channel}`)) === 0;
      }, 'the claim to be released');

      const streams = await probeStreams(player.flv);
      const [pictures, sound] = [streams.find(isVideo), streams.find((stream) => !isVideo(stream))];
      expect(pictures).toMatchObject({ codec_name: 'h264', width: video.width, height: video.height });
      expect(Number(pictures?.nb_read_frames)).toBe(frames);
      expect(sound?.codec_name).toBe(audio === null ? undefined : 'aac');
      const lengthMs = video.last_timestamp - video.first_timestamp;
      expect(Math.abs((player.video.at(-1)?.timestampMs ?? 0) - lengthMs)).toBeLessThanOrEqual(2);
      expect(await decodeErrors(player.flv)).toBe('');
    },
  );
});

const isVideo = (stream: { codec_type: string }): boolean => stream.codec_type === 'video';
const ended = (id: StreamId): Uint8Array => Buffer.from(JSON.stringify({ ...id, change: 'ended' }));
