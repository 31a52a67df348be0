import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness } from '../testing/live-harness.ts';
import type { PlatformHarness, TestUser } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let vehicle: { id: number; imei: string };
beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness } = live);
  vehicle = await live.newVehicle();
});
afterAll(() => live.close());
afterEach(() => live.hangUp());

const events = ['stream', 'media', 'location'];
const subscribe = async (client: LiveClient): Promise<LiveClient> => {
  client.send({ type: 'subscribe', vehicles: 'all', events });
  await client.next('subscribed');
  return client;
};
const connect = async (user: TestUser): Promise<LiveClient> => subscribe(await live.as(user));

async function share(user: TestUser, permissions: string[]): Promise<void> {
  const body = { secondaryUser: user.id, vehicles: [vehicle.id], permissions };
  expect((await live.owner.post('/api/vehicle/share-vehicles', body)).status).toBe(200);
}

/** Publishes a stream, a picture and a position, and returns the records that the client receives. */
async function receive(client: LiveClient) {
  const address = `https://video.fleet.example/0${vehicle.imei}/2`;
  const stream = {
    vehicle_id: vehicle.id,
    imei: vehicle.imei,
    channel_id: 2,
    stream_url: `${address}/stream.flv`,
    ws_flv_url: `${address.replace('https', 'wss')}/stream.flv`,
    hls_url: `${address}/index.m3u8`,
    token_expires_at: null,
  };
  const media = { id: 5, vehicle_id: vehicle.id };
  live.publish(vehicle.id, [{ type: 'stream', data: stream }, { type: 'media', data: media }, live.location(vehicle)]);
  await client.next('location');
  return { stream: client.of('stream')[0]?.data ?? {}, media: client.of('media')[0]?.data ?? {} };
}

const noUrls = {
  stream: {
    channel_id: 2,
    stream_url: null,
    ws_flv_url: null,
    hls_url: null,
    talk_url: null,
    token_expires_at: null,
  },
  media: { id: 5, url: null, thumbnail_url: null },
};

describe('the URLs of stream and media events', () => {
  it('are signed for the receiving user', async () => {
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['live_video', 'history_video']);
    for (const user of [harness.ours.owner, guest]) {
      const { stream, media } = await receive(await connect(user));
      const url = new URL(String(stream['stream_url']));
      expect(url.href).toContain('/2/stream.flv?token=');
      expect(String(stream['hls_url'])).toContain('/2/index.m3u8?token=');
      // A share without the permission for commands does not include talk.
      expect(typeof stream['talk_url'] === 'string').toBe(user === harness.ours.owner);
      expect(String(stream['ws_flv_url'])).toContain('/2/stream.flv?token=');
      expect(stream['token_expires_at']).toMatch(/^\d{4}-.*Z$/);
      expect(await harness.deps.streamTokens.verify(url.searchParams.get('token') ?? '')).toMatchObject({
        imei: vehicle.imei.replace(/^0+/, ''),
        channel: 2,
        kind: 'live',
        caller: { kind: 'user', userId: user.id, accountId: user.accountId },
      });
      expect(media['url']).toContain(`user=${user.id}&`);
    }
  });

  it.each([
    ['a user of a share without video', ['view'], noUrls],
    ['a user of a share with live video', ['live_video'], { stream: { channel_id: 2 }, media: noUrls.media }],
    ['a user of a share with recordings', ['history_video'], { stream: noUrls.stream, media: { id: 5 } }],
  ])('are null for %s where the user may not view', async (_name, permissions, expected) => {
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, permissions);
    const received = await receive(await connect(guest));
    expect(received).toMatchObject(expected);
    expect(typeof received.stream['stream_url'] === 'string').toBe(permissions.includes('live_video'));
    expect(typeof received.media['url'] === 'string').toBe(permissions.includes('history_video'));
  });

  it('are null for a viewer who may not view video', async () => {
    const viewer = await harness.user('viewer');
    const { data } = await live.owner.put(`/api/users/${viewer.id}`, { can_view_video: false });
    expect(data['can_view_video']).toBe(false);
    expect(await receive(await connect(viewer))).toMatchObject(noUrls);
  });
});
