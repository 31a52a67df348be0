import { type AccessUnit } from '@fleet/jt1078/testing';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, TcpCamera, TestCamera, UdpCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, startHarness } from './testing/harness.ts';
import { decodeErrors, fetchStatus, isKeyFrame, Player } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  harness = await startHarness();
});
afterAll(() => harness.stop());

const readClaim = (id: StreamId) => harness.redis.get(`stream:${id.kind}:{${id.imei}}:${id.channel}`);

describe('recording', () => {
  it('is delivered completely, ends with the last chunk, and is removed', async () => {
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const camera = new TcpCamera(harness.service.historyPort);
    const testCamera = new TestCamera(id);
    const opening = Player.open(harness.streamUrl(id));
    for (let i = 0; i < 4; i += 1)
      for (const unit of card) {
        await camera.send(...testCamera.createVideoPackets(unit));
        testCamera.timestampMs += 40;
      }
    camera.close();
    const player = await opening;
    await waitFor(() => player.ending === 'complete', 'the end of the response');
    expect(player.video).toHaveLength(4 * card.length);
    expect(await decodeErrors(player.flv)).toBe('');
    expect(await fetchStatus(harness.streamUrl(id))).toMatchObject({ status: 404 });
    expect(await readClaim(id)).toBeNull();
  });

  it('pauses the camera for slow viewers and loses nothing', async () => {
    const heavy = await createTestCard({ seconds: 4, size: '640x360', kbps: 12_000 });
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const camera = new TcpCamera(harness.service.historyPort);
    const testCamera = new TestCamera(id);
    const rounds = 8;
    let isSent = false;
    const sending = (async () => {
      for (let i = 0; i < rounds; i += 1)
        for (const unit of heavy) {
          await camera.send(...testCamera.createVideoPackets(unit));
          testCamera.timestampMs += 40;
        }
      isSent = true;
    })();
    const player = await Player.open(harness.streamUrl(id));
    player.response.pause();
    await waitFor(async () => (await harness.findStream(id))?.isHeld, 'the camera to be paused');
    expect(isSent).toBe(false);
    player.response.resume();
    await sending;
    camera.close();
    await waitFor(() => player.ending === 'complete', 'the end of the response');
    expect(player.video).toHaveLength(rounds * heavy.length);
    expect(player.video.filter(isKeyFrame)).toHaveLength(rounds * 4);
  });

  it('over UDP is paused and resumed by 0x9202', async () => {
    const heavy = await createTestCard({ seconds: 4, size: '640x360', kbps: 12_000 });
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const camera = new UdpCamera(harness.service.historyPort);
    const testCamera = new TestCamera(id);
    const sentControls = () =>
      gateway.commands.map(({ command }) => command.kind === 'controlPlayback' && command.control);
    // Without viewers the beginning is cached until the camera is paused.
    for (const unit of [...heavy, ...heavy]) {
      if (gateway.commands.length > 0) break;
      await camera.send(...testCamera.createVideoPackets(unit));
      testCamera.timestampMs += 40;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await waitFor(() => gateway.commands.length === 1, 'the pause');
    expect(sentControls()).toEqual([1]);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => gateway.commands.length === 2, 'play');
    expect(sentControls()).toEqual([1, 0]);
    await waitFor(() => player.video.length > 20, 'the beginning');
    player.close();
    camera.close();
    await gateway.stop();
  });
});
