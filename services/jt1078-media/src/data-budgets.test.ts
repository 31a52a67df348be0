import {
  type DataBudgetSpent,
  dataBudgetSpent,
  publish,
  type StreamChanged,
  streamChanged,
  subscribe,
} from '@fleet/bus';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { openMainStreamViewer, readStream, type StreamId, type StreamKind, startMainStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, startHarness } from './testing/harness.ts';
import { Player } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
const changes: StreamChanged[] = [];
beforeAll(async () => {
  card = await createTestCard({ seconds: 1 });
  harness = await startHarness();
  const onError = (error: unknown): void => {
    throw error;
  };
  subscribe(harness.bus, streamChanged, onError, (change) => void changes.push(change));
  await harness.bus.flush();
});
afterAll(() => harness.stop());

/** Starts a main stream whose camera accepts every command. */
async function running(kind: Exclude<StreamKind, 'talk'>) {
  const id = await harness.requestStream({ kind, dataType: kind === 'live' ? 1 : 0, streamType: 0 });
  const camera = new TcpCamera(kind === 'live' ? harness.service.livePort : harness.service.historyPort);
  const feed = startStreaming(camera, new TestCamera(id), card);
  await waitFor(() => harness.findStream(id), 'the stream');
  const gateway = fakeGateway(harness.bus, id.imei);
  await harness.bus.nc.flush();
  return {
    id,
    commands: () => gateway.commands.map(({ command }) => command),
    spend: (limit: DataBudgetSpent['limit']) => publish(harness.bus, dataBudgetSpent, { imei: id.imei, limit }),
    close: async () => {
      feed.stop();
      camera.close();
      await gateway.stop();
    },
  };
}

const readType = async (id: StreamId) => (await readStream(harness.redis, id)).claim?.request?.streamType;

describe('running streams of a vehicle whose data budget is spent', () => {
  it.each(['live', 'history'] as const)('end if streams are refused, and stop the camera: %s', async (kind) => {
    const { id, commands, spend, close } = await running(kind);
    const player = await Player.open(harness.streamUrl(id));
    spend('refuse');
    await waitFor(() => player.ending !== null, 'the end of the response');
    expect([player.ending, player.response.trailers]).toEqual(['complete', { 'x-stop-reason': 'data_budget_spent' }]);
    expect(await harness.findStream(id)).toBeUndefined();
    await waitFor(() => commands().length > 0, 'the command');
    expect(commands()).toMatchObject([
      kind === 'live' ? { kind: 'controlLive', control: 0 } : { kind: 'controlPlayback', control: 2 },
    ]);
    await close();
  });

  it('are published with the reason of their end', async () => {
    const { id, spend, close } = await running('live');
    spend('refuse');
    const findEnd = () => changes.find(({ imei, status }) => imei === id.imei && status === 'stopped');
    await waitFor(findEnd, 'the end');
    expect(findEnd()).toMatchObject({ endReason: 'dataBudgetSpent', viewers: 0 });
    await close();
  });

  it('continue as the sub stream if that is preferred, although viewers want the main stream', async () => {
    const { id, commands, spend, close } = await running('live');
    await startMainStream(harness.redis, id, 'user:1');
    await openMainStreamViewer(harness.redis, { id, viewer: 'one', caller: 'user:1' }, true);
    const player = await Player.open(harness.streamUrl(id));
    spend('sub_stream');
    await waitFor(async () => (await readType(id)) === 1, 'the sub stream');
    spend('sub_stream');
    const pictures = player.video.length;
    // Types are checked every second.
    await waitFor(() => player.video.length > pictures + 75, 'three more seconds');
    expect(commands()).toMatchObject([{ kind: 'controlLive', control: 1, streamType: 1 }]);
    player.close();
    await close();
  });

  it('continue unchanged if they are recordings and only live video is limited', async () => {
    const { id, commands, spend, close } = await running('history');
    spend('sub_stream');
    const live = await running('live');
    live.spend('sub_stream');
    await waitFor(async () => (await readType(live.id)) === 1, 'the sub stream of another vehicle');
    expect([commands(), await readType(id)]).toEqual([[], 0]);
    await live.close();
    await close();
  });

  it('do not end for the budget of another vehicle', async () => {
    const [spent, other] = [await running('live'), await running('live')];
    spent.spend('refuse');
    await waitFor(async () => (await harness.findStream(spent.id)) === undefined, 'the end');
    expect(await harness.findStream(other.id)).toBeDefined();
    await Promise.all([spent.close(), other.close()]);
  });
});
