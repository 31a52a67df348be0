import { mediaControl, mediaControlSubject, publish, request, switchStream } from '@fleet/bus';
import { type AccessUnit } from '@fleet/jt1078/testing';
import {
  closeMainStreamViewer,
  isMainStreamWanted,
  openMainStreamViewer,
  readStream,
  type StreamId,
  startMainStream,
} from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, startHarness } from './testing/harness.ts';

jest.setTimeout(60_000);

const mainStream = 0;
const subStream = 1;

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard({ seconds: 1 });
  harness = await startHarness();
});
afterAll(() => harness.stop());

/** Starts a stream whose camera accepts every command. */
async function running(options: { streamType: number; returnsToSub?: boolean }) {
  const id = await harness.requestStream({ dataType: 1, ...options });
  const camera = new TcpCamera(harness.service.livePort);
  const feed = startStreaming(camera, new TestCamera(id), card);
  await waitFor(() => harness.findStream(id), 'the stream');
  const gateway = fakeGateway(harness.bus, id.imei);
  await harness.bus.nc.flush();
  return {
    id,
    types: () => gateway.commands.map(({ command }) => (command.kind === 'controlLive' ? command.streamType : null)),
    close: async () => {
      feed.stop();
      camera.close();
      await gateway.stop();
    },
  };
}

const switchTo = ({ imei, channel }: StreamId, streamType: number) =>
  request(harness.bus, switchStream(harness.podId), { imei, channel, streamType }, { timeoutMs: 15_000 });
const readRequest = async (id: StreamId) => (await readStream(harness.redis, id)).claim?.request;

describe('a switch of the stream type', () => {
  it('commands the camera once, and stores the type with the claim', async () => {
    const { id, types, close } = await running({ streamType: subStream });
    const outcomes = await Promise.all([switchTo(id, mainStream), switchTo(id, mainStream)]);
    expect(outcomes.filter(({ outcome }) => outcome !== null)).toMatchObject([{ outcome: { kind: 'answered' } }]);
    expect(types()).toEqual([mainStream]);
    expect(await readRequest(id)).toMatchObject({ streamType: mainStream, returnsToSub: true });
    expect(await switchTo(id, subStream)).toMatchObject({ outcome: { kind: 'answered' } });
    expect(await readRequest(id)).toMatchObject({ streamType: subStream, returnsToSub: false });
    await close();
  });

  it('has no outcome for a stream that does not run here', async () => {
    expect(await switchTo({ kind: 'live', imei: '13800138000', channel: 9 }, mainStream)).toEqual({ outcome: null });
  });

  it('is recorded when a partner has switched the camera', async () => {
    const { id, types, close } = await running({ streamType: subStream });
    const change = { ...id, change: 'switched', streamType: mainStream } as const;
    publish(harness.bus, mediaControl, change, mediaControlSubject(harness.podId));
    await waitFor(async () => (await readRequest(id))?.streamType === mainStream, 'the record');
    expect(await readRequest(id)).toMatchObject({ returnsToSub: false });
    expect(types()).toEqual([]);
    await close();
  });
});

describe('the main stream that a viewer chose', () => {
  it('stays while a viewer wants it, and ends ten seconds after the last one has left', async () => {
    const { id, types, close } = await running({ streamType: mainStream, returnsToSub: true });
    const viewer = { id, viewer: 'one', caller: 'user:1' };
    await openMainStreamViewer(harness.redis, viewer, true);
    const openedAtMs = performance.now();
    await waitFor(() => performance.now() - openedAtMs > 3_000, 'some checks');
    expect(types()).toEqual([]);
    await closeMainStreamViewer(harness.redis, viewer);
    const leftAtMs = performance.now();
    await waitFor(() => types().length > 0, 'the command');
    expect(performance.now() - leftAtMs).toBeGreaterThan(9_500);
    expect(types()).toEqual([subStream]);
    await waitFor(async () => (await readRequest(id))?.streamType === subStream, 'the record');
    await close();
  });

  it('ends although the process of its viewers was killed', async () => {
    const { id, types, close } = await running({ streamType: mainStream, returnsToSub: true });
    // Its process renews it no more.
    await openMainStreamViewer(harness.redis, { id, viewer: 'lost', caller: 'user:1' }, true);
    await waitFor(() => types().length > 0, 'the command');
    expect(types()).toEqual([subStream]);
    await close();
  });

  it('begins as soon as the camera of a started channel has connected', async () => {
    const { id, types, close } = await running({ streamType: subStream });
    await startMainStream(harness.redis, id, 'user:1');
    await waitFor(() => types().length > 0, 'the command');
    expect(types()).toEqual([mainStream]);
    await close();
  });

  it('is not wanted any more once the stream has ended', async () => {
    const { id, close } = await running({ streamType: mainStream, returnsToSub: true });
    await openMainStreamViewer(harness.redis, { id, viewer: 'one', caller: 'user:1' }, true);
    publish(harness.bus, mediaControl, { ...id, change: 'ended' }, mediaControlSubject(harness.podId));
    await waitFor(async () => !(await isMainStreamWanted(harness.redis, id)), 'the end');
    await close();
    expect(await harness.findStream(id)).toBeUndefined();
  });
});

describe('the main stream of a partner', () => {
  it('stays although no viewer chose it', async () => {
    const { id, types, close } = await running({ streamType: mainStream });
    const startedAtMs = performance.now();
    await waitFor(() => performance.now() - startedAtMs > 3_000, 'some checks');
    expect(types()).toEqual([]);
    expect(await readRequest(id)).toMatchObject({ streamType: mainStream });
    await close();
  });
});
