import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { shareLinkCollection } from '../domains/share-links/store.ts';
import { writeLastLocation } from '../testing/last-location.ts';
import { LiveHarness, type TestEvent } from '../testing/live-harness.ts';
import type { Data, PlatformHarness } from '../testing/platform-harness.ts';
import { testPosition } from '../testing/positions.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let live: LiveHarness;
let harness: PlatformHarness;
let vehicle: { id: number; imei: string };
beforeAll(async () => {
  live = await LiveHarness.open();
  harness = live.harness;
});
afterAll(() => live.close());
beforeEach(async () => {
  vehicle = await live.newVehicle();
  await writeLastLocation(harness.deps, testPosition(vehicle.imei, { speed: 36 }));
});
afterEach(() => live.hangUp());

async function newLink(more: object = {}): Promise<Data & { slug: string }> {
  const { status, data } = await live.owner.post('/api/share-links', { vehicle_id: vehicle.id, ...more });
  expect(status).toBe(201);
  return data as Data & { slug: string };
}

const publish = (events: readonly TestEvent[]): void => live.publish(vehicle.id, events);
const viewsOf = async ({ id }: Data) => (await shareLinkCollection(harness.records).find(harness.ours, id))?.viewCount;

/** Returns the query of the URL in the HTTP response. */
async function queryFor(slug: string, headers: Record<string, string> = {}): Promise<string> {
  const { status, data } = await harness.with(headers).get(`/api/public/share-links/${slug}`);
  expect(status).toBe(200);
  return new URL(String(data['ws_url'])).search;
}

describe('a share page', () => {
  it('receives the positions of its vehicle, and nothing else', async () => {
    const link = await newLink();
    const page = await live.ready(`?share=${link.slug}`);
    expect(page.of('hello')[0]?.data).toMatchObject({ user: null, subscriptions: [], heartbeat_seconds: 30 });
    const position = { latitude: 48.1, longitude: 11.5, speed: 36, course: 90, timestamp: expect.any(Number) };
    expect(page.of('snapshot').map(({ data }) => data)).toEqual([{ locations: [position], final: true }]);
    const other = await live.newVehicle();
    const status = {
      vehicle_id: vehicle.id,
      imei: vehicle.imei,
      connected: true,
      state: 'moving',
      previous_state: 'idle',
    };
    publish([
      live.location(other),
      live.notification(vehicle.id),
      { type: 'command', data: { vehicle_id: vehicle.id } },
      { type: 'vehicle', data: { vehicle_id: vehicle.id, action: 'updated' } },
      { type: 'status', data: { ...status, last_seen: null } },
      live.location(vehicle, { latitude: 5, timestamp: 77 }),
    ]);
    expect((await page.next('location')).data).toEqual({
      latitude: 5,
      longitude: 2,
      speed: 3,
      course: 4,
      timestamp: 77,
    });
    expect(page.of('status').map(({ data }) => data)).toMatchObject([
      { connected: false, state: 'moving', previous_state: null },
      { connected: true, state: 'moving', previous_state: 'idle', state_since: null, last_seen: null },
    ]);
    page.send({ type: 'subscribe', events: ['command'], id: 3 });
    expect((await page.next('error')).data).toMatchObject({ code: 'not_allowed', id: 3 });
    await page.settle();
    expect(new Set(page.messages.map(({ type }) => type))).toEqual(
      new Set(['hello', 'snapshot', 'location', 'status', 'error', 'pong']),
    );
    expect(JSON.stringify(page.messages)).not.toContain(vehicle.imei);
    expect(await viewsOf(link)).toBe(1);
  });

  it('receives why a camera stopped, without the number of its terminal, if the link includes live video', async () => {
    const [video, none] = [await newLink({ permissions: ['live_video'] }), await newLink()];
    const page = await live.ready(`?share=${video.slug}`);
    const other = await live.ready(`?share=${none.slug}`);
    const reason = { code: 'stopped', text: 'A user stopped the stream.' };
    const stream = { channel_id: 1, kind: 'live', status: 'stopped', reason };
    publish([{ type: 'stream', data: { ...stream, imei: vehicle.imei, vehicle_id: vehicle.id, stream_url: 'x' } }]);
    expect((await page.next('stream')).data).toEqual(stream);
    await other.settle();
    expect(other.of('stream')).toEqual([]);
  });

  it('receives no positions without the permission', async () => {
    const { slug } = await newLink({ permissions: ['live_video'] });
    const page = await live.ready(`?share=${slug}`);
    expect(page.of('snapshot')[0]?.data).toEqual({ locations: [], final: true });
    publish([live.location(vehicle), { type: 'status', data: { state: 'idle' } }]);
    await page.until(() => page.of('status').length === 2);
    expect(page.of('location')).toEqual([]);
    expect(page.of('arrival')).toEqual([]);
  });

  it('receives the arrival at its destination, which follows the position', async () => {
    const { slug } = await newLink({ destination: { latitude: 48.2, longitude: 11.5 } });
    const page = await live.ready(`?share=${slug}`);
    // 11.1 km of straight line, with the detour of roads.
    expect((await page.next('arrival')).data).toEqual({ eta: expect.any(String), distance_km: 14.5 });
    const isNearer = async (): Promise<boolean> => {
      publish([live.location(vehicle, { latitude: 48.19, longitude: 11.5 })]);
      return page.of('arrival').some(({ data }) => data['distance_km'] === 1.4);
    };
    await waitFor(isNearer, 'a later estimate', 30_000);
    const [first, last] = [page.of('arrival')[0], page.of('arrival').at(-1)].map((event) => event?.data['eta']);
    expect(Date.parse(String(last))).toBeLessThan(Date.parse(String(first)));
  });

  it('receives a new ticket with each connection, which counts no further view', async () => {
    const link = await newLink({ password: 'open sesame', max_views: 1 });
    const page = await live.ready(await queryFor(link.slug, { 'x-share-password': 'open sesame' }));
    const ticket = String(page.of('hello')[0]?.data['ticket']);
    await live.ready(`?share=${link.slug}&ticket=${encodeURIComponent(ticket)}`);
    expect(await viewsOf(link)).toBe(1);
  });

  it('that was opened over HTTP counts once, and needs its password once', async () => {
    const link = await newLink({ password: 'open sesame', max_views: 1 });
    const query = await queryFor(link.slug, { 'x-share-password': 'open sesame' });
    const page = await live.ready(query);
    // It reconnects after a lost connection.
    const again = await live.ready(query, live.replicaBase);
    expect(await viewsOf(link)).toBe(1);
    const late = await live.connect(`?share=${link.slug}&password=open+sesame`);
    expect(await late.ended()).toMatchObject({ code: 4408 });
    for (const one of [page, again]) await one.settle();
    expect(page.closed).toBeUndefined();
  });

  it('requires the password of its link', async () => {
    const { slug } = await newLink({ password: 'open sesame' });
    const ticket = (await queryFor((await newLink()).slug)).split('&')[1];
    for (const query of [`?share=${slug}`, `?share=${slug}&password=wrong`, `?share=${slug}&${ticket}`])
      expect(await (await live.connect(query)).ended()).toMatchObject({ code: 4401 });
    await live.ready(`?share=${slug}&password=open%20sesame`);
    const byHeader = await live.connect(`?share=${slug}`, { headers: { 'x-share-password': 'open sesame' } });
    await byHeader.next('snapshot');
  });

  it.each(['nothing', 'x'.repeat(22), '', "'$gt"])('without a link (%j) is closed with 4408', async (slug) => {
    expect(await (await live.connect(`?share=${encodeURIComponent(slug)}`)).ended()).toMatchObject({ code: 4408 });
  });

  it.each([
    ['is revoked', (id: number) => live.owner.delete(`/api/share-links/${id}`)],
    ['loses its vehicle', () => live.owner.delete(`/api/vehicles/${vehicle.id}`)],
    [
      'expires',
      (id: number) =>
        shareLinkCollection(harness.records).updateMany(
          harness.ours,
          { _id: id },
          { $set: { expiresAt: new Date(Date.now() - 1) } },
        ),
    ],
  ])('whose link %s is closed with 4408', async (_case, end) => {
    const { id, slug } = await newLink();
    const page = await live.ready(`?share=${slug}`, live.replicaBase);
    await end(id);
    const atMs = Date.now();
    expect(await page.ended()).toMatchObject({ code: 4408 });
    expect(Date.now() - atMs).toBeLessThan(5_000);
    expect(await (await live.connect(`?share=${slug}`)).ended()).toMatchObject({ code: 4408 });
  });

  it('whose link expires during a database outage is closed with 4408, too', async () => {
    const { slug } = await newLink();
    const page = await live.ready(`?share=${slug}`);
    const tomorrowMs = Date.now() + 25 * 3_600_000;
    const collection = harness.records.collection.bind(harness.records);
    jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
      if (name === 'share_links') throw new Error('the database is unavailable');
      return collection(name);
    });
    jest.spyOn(Date, 'now').mockReturnValue(tomorrowMs);
    try {
      expect(await page.ended()).toMatchObject({ code: 4408 });
    } finally {
      jest.restoreAllMocks();
    }
  });
});
