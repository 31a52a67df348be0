import { PayloadType } from '@fleet/jt1078';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { campaignSize, campaignTimeoutMs, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, TcpCamera, TestCamera, UdpCamera } from './testing/camera.ts';
import { type MediaHarness, startHarness } from './testing/harness.ts';
import { fetchStatus, Player, probeStreams } from './testing/player.ts';

jest.setTimeout(campaignTimeoutMs(60_000));

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard({ seconds: 2 });
  harness = await startHarness();
});
afterAll(() => harness.stop());

/** Returns a generator of reproducible numbers from 0 to 1. */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Simulates a faulty link or device: modifies, truncates, repeats and drops packets. */
function damaged(packets: readonly Buffer[], random: () => number): Buffer[] {
  return packets.flatMap((packet) => {
    const dice = random();
    if (dice < 0.03) return [];
    if (dice < 0.06) return [packet, packet];
    if (dice < 0.09) return [packet.subarray(0, Math.floor(random() * packet.length))];
    if (dice > 0.12) return [packet];
    const copy = Buffer.from(packet);
    for (let i = 0; i < 3; i += 1) copy[Math.floor(random() * copy.length)] = Math.floor(random() * 256);
    return [copy];
  });
}

const rounds = campaignSize({ what: 'rounds of damaged packets', normal: 20 });

describe('damaged packets', () => {
  it.each(['tcp', 'udp'] as const)(
    'produce FLV over %s that ffprobe can read, with monotonic timestamps',
    async (way) => {
      // FUZZ_SEED selects another sequence.
      const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
      const random = numbersFrom(seed);
      const id = await harness.requestStream();
      const { livePort } = harness.service;
      const camera = way === 'tcp' ? new TcpCamera(livePort) : new UdpCamera(livePort);
      const testCamera = new TestCamera(id);
      const round = (): Buffer[] =>
        card.flatMap((unit) => {
          testCamera.timestampMs += 40;
          return [
            ...testCamera.createVideoPackets(unit),
            testCamera.createAudioPacket(Buffer.alloc(320, 0xd5), PayloadType.G711A),
          ];
        });
      await camera.send(...round());
      const player = await Player.open(harness.streamUrl(id));
      for (let i = 0; i < rounds; i += 1) await camera.send(...damaged(round(), random));
      // Undamaged packets must play again.
      const videoCountBefore = player.video.length;
      await camera.send(...round(), ...round());
      await waitFor(() => player.video.length > videoCountBefore + 40, `pictures after the damage (seed ${seed})`);
      for (const tags of [player.video, player.audio]) {
        const times = tags.map((tag) => tag.timestampMs);
        expect(times).toEqual(times.toSorted((a, b) => a - b));
      }
      const streams = await probeStreams(player.flv);
      expect(streams.map((stream) => stream.codec_name)).toContain('h264');
      expect(await fetchStatus(`http://127.0.0.1:${harness.service.adminPort}/livez`)).toMatchObject({ status: 200 });
      camera.close();
      player.close();
    },
  );
});
