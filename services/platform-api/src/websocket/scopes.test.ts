import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { LiveClient } from '../testing/live-client.ts';
import { LiveHarness } from '../testing/live-harness.ts';
import type { PlatformHarness } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
beforeAll(async () => {
  live = await LiveHarness.open();
  ({ harness } = live);
});
afterAll(() => live.close());
afterEach(() => live.hangUp());

/** Opens a connection of the owner's session by a token from a key with these scopes, subscribed to everything. */
async function withScopes(...scopes: string[]): Promise<LiveClient> {
  const { data } = await live.owner.post('/api/api-keys', { name: scopes.join(), scopes });
  const headers = { 'x-api-key': String(data['key']), authorization: `Bearer ${harness.ours.owner.token}` };
  const { status, body } = await harness.with(headers).get('/api/user/generate-websocket-token');
  expect(status).toBe(200);
  const client = await live.ready(`?token=${(body as { token: string }).token}`);
  client.send({ type: 'subscribe', vehicles: 'all', events: ['media', 'stream', 'upload', 'command', 'notification'] });
  await client.next('subscribed');
  return client;
}

const filesOf = (client: LiveClient) => client.of('notification').map(({ data }) => data['media']);
const typesOf = ({ messages }: LiveClient): string[] =>
  messages.map(({ type }) => type).filter((type) => ['media', 'stream', 'upload', 'command'].includes(type));

describe('the scopes of the API key', () => {
  it('apply to the websocket as to requests, within one session, in any order of opening', async () => {
    const first = await withScopes('read');
    const [video, command] = [await withScopes('read', 'video'), await withScopes('read', 'command')];
    const read = [first, await withScopes('read')];
    const { id } = await live.newVehicle();
    const event = live.notification(id);
    const types = ['media', 'stream', 'upload', 'command'] as const;
    const records = types.map((type) => ({
      type,
      data: {
        id: 5,
        vehicle_id: id,
        media_id: 5,
        thumbnail_width: null,
        download_url: null,
        mp4: { status: 'completed', url: null },
      },
    }));
    live.publish(id, [...records, { ...event, data: { ...event.data, media: [{ id: 5, kind: 'image' }] } }]);
    for (const client of [...read, video, command]) {
      await client.next('notification');
      await client.settle();
    }
    expect(typesOf(video)).toEqual(['media', 'stream', 'upload', 'command']);
    const url = expect.stringContaining('/api/dashcam-media/5/file?');
    expect(video.of('media')[0]?.data).toMatchObject({ id: 5, url });
    const mp4 = { status: 'completed', url: expect.stringMatching(/dashcam-media\/5\/file\?.*&format=mp4$/) };
    expect(video.of('upload')[0]?.data).toMatchObject({ download_url: url, mp4 });
    expect(filesOf(video)).toEqual([[{ id: 5, kind: 'image', url }]]);
    expect(typesOf(command)).toEqual(['stream', 'upload', 'command']);
    expect(command.of('upload')[0]?.data).toMatchObject({ download_url: null, mp4: { url: null } });
    for (const client of read) expect(typesOf(client)).toEqual(['command']);
    for (const client of [...read, command]) expect(filesOf(client)).toEqual([[]]);
  });
});
