import { randomBytes } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { writeLastLocation } from '../../testing/last-location.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { testPosition } from '../../testing/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { appendPositions } from '../positions/bucket-writer.ts';
import { assertLive, createSlug, estimateArrivalMs, slugPattern } from './rules.ts';
import { shareLinkCollection } from './store.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let owner: Client;
let theirs: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  [owner, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness.close());

const links = '/api/share-links';
const hourMs = 3_600_000;
let vehicleId: number;
let imei: string;
let vehicles = 0;

beforeEach(async () => {
  vehicles += 1;
  imei = `8${String(Date.now()).slice(-9)}${String(vehicles % 100).padStart(2, '0')}`;
  const made = await owner.post('/api/vehicles', {
    vehicle_no: `SL ${vehicles}`,
    name: 'Van',
    imei,
    vehicle_type: 'van',
  });
  expect(made.status).toBe(201);
  vehicleId = made.data.id;
});

const position = (more: Partial<LastLocation> = {}) => testPosition(imei, { speed: 36, ...more });

async function makeLink(more: object = {}): Promise<Data> {
  const { status, data } = await owner.post(links, { vehicle_id: vehicleId, expires_in_hours: 2, ...more });
  expect(status).toBe(201);
  return data;
}

const open = (slug: unknown, headers?: Record<string, string>) =>
  harness.anonymous.get(`/api/public/share-links/${String(slug)}`, headers);

describe('newSlug', () => {
  it('creates unique slugs of 22 base62 characters, all about equally frequent', () => {
    const slugs = Array.from({ length: 20_000 }, createSlug);
    expect(new Set(slugs).size).toBe(slugs.length);
    expect(slugs.every((slug) => new RegExp(slugPattern).test(slug))).toBe(true);
    const counts = new Map<string, number>();
    for (const character of slugs.join('')) counts.set(character, (counts.get(character) ?? 0) + 1);
    expect(counts.size).toBe(62);
    const usual = (slugs.length * 22) / 62;
    for (const count of counts.values()) expect(Math.abs(count - usual) / usual).toBeLessThan(0.1);
  });
});

describe('rules', () => {
  it('assertLive throws the reason why a link has ended', () => {
    const now = new Date();
    const link = { revokedAt: null, expiresAt: new Date(now.getTime() + 1), isUsedUp: false };
    expect(() => assertLive(link, now)).not.toThrow();
    const code = (name: string) => expect.objectContaining({ code: name, status: 410 });
    expect(() => assertLive({ ...link, revokedAt: now }, now)).toThrow(code('share_link_revoked'));
    expect(() => assertLive({ ...link, expiresAt: now }, now)).toThrow(code('share_link_expired'));
    expect(() => assertLive({ ...link, isUsedUp: true }, now)).toThrow(code('share_link_used_up'));
  });

  it('etaMs estimates the arrival from distance and speed', () => {
    const from = { latitude: 0, longitude: 0, speed: 0 };
    const to = { latitude: 0, longitude: 1 };
    // 111.2 km times the detour factor, at 40 km/h.
    expect(estimateArrivalMs(from, to, 0) / hourMs).toBeCloseTo(3.61, 1);
    expect(estimateArrivalMs({ ...from, speed: 120 }, to, 0) / hourMs).toBeCloseTo(1.2, 1);
    expect(estimateArrivalMs(from, from, 5)).toBe(5);
    expect(estimateArrivalMs(from, to, 0, 20) / estimateArrivalMs(from, to, 0, 60)).toBeCloseTo(3);
  });
});

describe('POST /api/share-links', () => {
  it('creates a link with defaults', async () => {
    const { status, data: link, headers } = await owner.post(links, { vehicle_id: vehicleId });
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${links}/${String(link['slug'])}`);
    expect(link).toMatchObject({
      url: `http://127.0.0.1:8080/share/${String(link['slug'])}`,
      vehicle_id: vehicleId,
      label: null,
      permissions: ['location'],
      history_minutes: 30,
      max_views: null,
      has_password: false,
      destination: null,
      revoked_at: null,
      view_count: 0,
      version: 1,
    });
    const hours = (Date.parse(String(link['expires_at'])) - Date.parse(String(link['created_at']))) / hourMs;
    expect(hours).toBeCloseTo(24, 1);
  });

  it('stores only a hash of the password and never returns it', async () => {
    const link = await makeLink({ password: 'open sesame' });
    expect(link['has_password']).toBe(true);
    expect(JSON.stringify(link)).not.toContain('sesame');
    const stored = await shareLinkCollection(harness.records).find(harness.ours, link.id);
    expect(JSON.stringify(stored)).not.toContain('sesame');
    expect(stored?.passwordHash).toMatch(/^\$argon2id\$/);
  });

  it.each([
    ['/vehicle_id', { vehicle_id: 'x' }],
    ['/expires_in_hours', { expires_in_hours: 0 }],
    ['/expires_in_hours', { expires_in_hours: 721 }],
    ['/expires_in_hours', { expires_in_hours: 1.5 }],
    ['/permissions/0', { permissions: ['commands'] }],
    ['/permissions', { permissions: [] }],
    ['/history_minutes', { history_minutes: 1441 }],
    ['/password', { password: 'abc' }],
    ['/password', { password: 'a'.repeat(65) }],
    ['/max_views', { max_views: 0 }],
    ['/destination/latitude', { destination: { latitude: 91, longitude: 0 } }],
    ['/label', { label: 'a'.repeat(101) }],
  ])('rejects an invalid value at %s', async (path, more) => {
    const { body } = await owner.post(links, { vehicle_id: vehicleId, ...more });
    expect(body).toMatchObject({ status: 400, code: 'validation_failed' });
    expect((body as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(path);
  });

  it("is limited to the account's own vehicles, and to managers and above", async () => {
    expect((await theirs.post(links, { vehicle_id: vehicleId })).body).toMatchObject({ code: 'vehicle_not_found' });
    for (const role of ['viewer', 'driver'] as const)
      expect((await harness.as(await harness.user(role)).post(links, { vehicle_id: vehicleId })).status).toBe(403);
    const secondaryUser = harness.theirs.owner.id;
    await owner.post('/api/vehicle/share-vehicles', {
      secondaryUser,
      vehicles: [vehicleId],
      permissions: ['commands'],
    });
    expect((await theirs.post(links, { vehicle_id: vehicleId })).body).toMatchObject({ code: 'permission_denied' });
  });

  it('limits a vehicle to fifty live links', async () => {
    // Links are created one after another, however many are requested. Fifty concurrent requests would wait for too
    // long on a busy machine.
    for (let made = 0; made < 50; made += 5) await Promise.all(Array.from({ length: 5 }, () => makeLink()));
    const refused = await owner.post(links, { vehicle_id: vehicleId });
    expect(refused.body).toMatchObject({ status: 409, code: 'limit_reached' });
    const list = await owner.get(`${links}?vehicle_id=${vehicleId}&limit=200`);
    expect(list.body).toMatchObject({ meta: { pagination: { total: 50 } } });
    expect((await owner.delete(`${links}/${String(list.items[0]?.['id'])}`)).status).toBe(200);
    await makeLink();
  });

  it('creates one link for a repeated request', async () => {
    const key = { 'idempotency-key': `link-${vehicleId}` };
    const [first, second] = [
      await owner.post(links, { vehicle_id: vehicleId }, key),
      await owner.post(links, { vehicle_id: vehicleId }, key),
    ];
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotent-replayed')).toBe('true');
  });
});

describe('GET and DELETE /api/share-links', () => {
  it("lists the caller's live links, or those that have ended", async () => {
    const [kept, revoked] = [await makeLink({ label: 'kept' }), await makeLink({ label: 'revoked' })];
    const response = await owner.delete(`${links}/${revoked.id}`);
    expect(response.data).toMatchObject({ id: revoked['id'], revoked_at: null });
    expect((await owner.delete(`${links}/${revoked.id}`)).status).toBe(404);
    const list = async (query: string, client = owner) =>
      (await client.get(`${links}?vehicle_id=${vehicleId}${query}`)).items.map((link) => link['label']);
    expect(await list('')).toEqual(['kept']);
    expect(await list('&active=true')).toEqual(['kept']);
    expect(await list('&active=false')).toEqual(['revoked']);
    expect(await list('', theirs)).toEqual([]);
    expect(await list('', harness.as(await harness.user('manager')))).toEqual([]);
    expect((await owner.get(`${links}?active=maybe`)).status).toBe(400);
    expect((await theirs.delete(`${links}/${kept.id}`)).status).toBe(404);
    expect((await owner.delete(`${links}/${String(kept['slug'])}`)).status).toBe(404);
  });
});

describe('DELETE /api/share-links/:id', () => {
  it('is limited to the creator of the link and to owners and admins of the account', async () => {
    const [creator, colleague] = [harness.as(await harness.user('manager')), harness.as(await harness.user('manager'))];
    for (const role of ['owner', 'admin'] as const) {
      const { data } = await creator.post(links, { vehicle_id: vehicleId });
      expect((await colleague.delete(`${links}/${data.id}`)).status).toBe(404);
      expect((await theirs.delete(`${links}/${data.id}`)).status).toBe(404);
      expect((await open(data['slug'])).status).toBe(200);
      expect((await harness.as(await harness.user(role)).delete(`${links}/${data.id}`)).data).toMatchObject({
        id: data.id,
      });
      expect((await open(data['slug'])).body).toMatchObject({ code: 'share_link_revoked' });
      const kept = (await creator.get(`${links}?active=false&vehicle_id=${vehicleId}`)).items;
      expect(kept.map(({ id }) => id)).toContain(data.id);
    }
  });
});

describe('GET /api/public/share-links/:slug', () => {
  it('returns only the documented fields, with or without credentials', async () => {
    await writeLastLocation(harness.deps, position());
    const link = await makeLink({
      label: 'On the way',
      permissions: ['location', 'live_video'],
      destination: { latitude: 48.2, longitude: 11.6, name: 'Depot' },
    });
    const response = await open(link['slug']);
    expect(response.status).toBe(200);
    const { data } = response;
    const addressOf = (file: string, protocol = 'http'): RegExp =>
      new RegExp(`^${protocol}://127\\.0\\.0\\.1:8081/s/${String(link['slug'])}/1/${file}\\?token=[\\w.-]+$`);
    expect(data).toEqual({
      label: 'On the way',
      vehicle: { name: 'Van', vehicle_no: `SL${vehicles}`, vehicle_type: 'van' },
      state: 'moving',
      state_since: null,
      location: { latitude: 48.1, longitude: 11.5, speed: 36, course: 90, timestamp: expect.any(Number) },
      track: [[48.1, 11.5, expect.any(Number)]],
      destination: { latitude: 48.2, longitude: 11.6, name: 'Depot' },
      eta: expect.any(String),
      permissions: ['location', 'live_video'],
      stream_url: expect.stringMatching(addressOf('stream.flv')),
      ws_flv_url: expect.stringMatching(addressOf('stream.flv', 'ws')),
      hls_url: expect.stringMatching(addressOf('index.m3u8')),
      channels: [1],
      ws_url: expect.stringMatching(
        new RegExp(String.raw`^ws://127\.0\.0\.1:8080/ws\?share=${String(link['slug'])}&ticket=[\w.%-]+$`),
      ),
      expires_at: link['expires_at'],
    });
    expect(JSON.stringify(response.body)).not.toContain(imei);
    for (const [name, value] of [
      ['cache-control', 'no-store'],
      ['referrer-policy', 'no-referrer'],
      ['x-robots-tag', 'noindex'],
    ] as const)
      expect(response.headers.get(name)).toBe(value);
    expect(response.headers.get('x-ratelimit-limit')).not.toBeNull();
    const signedIn = await theirs.get(`${links}/${String(link['slug'])}`);
    expect(signedIn.status).toBe(200);
    expect(Object.keys(signedIn.data ?? {})).toEqual(Object.keys(data));
    expect((await harness.anonymous.get(`${links}/${String(link['slug'])}`)).status).toBe(401);
  });

  it('returns addresses of video only with the permission, for the enabled cameras of a vehicle with a terminal', async () => {
    const channels = [{ channel_id: 1, enabled: false }, { channel_id: 2 }, { channel_id: 3 }];
    expect((await owner.put(`/api/vehicles/${vehicleId}`, { channels })).status).toBe(200);
    const noVideo = { stream_url: null, ws_flv_url: null, hls_url: null, channels: [] };
    const view = async (more: object) => (await open((await makeLink(more))['slug'])).data;
    expect(await view({})).toMatchObject(noVideo);
    const linked = await view({ permissions: ['live_video'] });
    expect(linked).toMatchObject({ channels: [2, 3], stream_url: expect.stringContaining('/2/stream.flv?') });
    expect((await owner.put(`/api/vehicles/${vehicleId}`, { imei: null })).status).toBe(200);
    expect(await view({ permissions: ['live_video'] })).toMatchObject(noVideo);
  });

  it('returns no position without permission or before the first report, and no track older than the history', async () => {
    const video = await makeLink({ permissions: ['live_video'], destination: { latitude: 1, longitude: 1 } });
    const never = await open(video['slug']);
    expect(never.data).toMatchObject({ state: 'never_connected', location: null, track: [], eta: null });
    await writeLastLocation(harness.deps, position({ timestamp: Date.now() - hourMs }));
    expect((await open(video['slug'])).data).toMatchObject({ location: null, track: [], eta: null });
    const [recent, long] = [await makeLink(), await makeLink({ history_minutes: 90 })];
    expect((await open(recent['slug'])).data).toMatchObject({ location: { speed: 36 }, track: [] });
    expect((await open(long['slug'])).data['track']).toHaveLength(1);
  });

  it('returns the track of the last minutes without jumps, and an arrival at their pace', async () => {
    const now = Date.now();
    const { accountId } = harness.ours;
    const points = Array.from({ length: 20 }, (_u, i) => ({
      vehicleId,
      accountId,
      driverId: 1,
      hash: `0${i}`,
      position: position({
        timestamp: now - (20 - i) * 60_000,
        latitude: i === 10 ? 12 : 48 + i / 200,
        longitude: i % 2 === 0 ? 11.5 : 11.502,
        speed: 30,
      }),
    }));
    await appendPositions(harness.deps.database, points);
    await writeLastLocation(harness.deps, position({ timestamp: now, latitude: 48.1 }));
    const destination = { latitude: 48.4, longitude: 11.5 };
    const [long, short, none] = [
      await makeLink({ destination }),
      await makeLink({ history_minutes: 5 }),
      await makeLink({ history_minutes: 0, destination }),
    ];
    const { track, eta } = (await open(long['slug'])).data as unknown as { track: number[][]; eta: string };
    expect(track).toHaveLength(20);
    expect(track[0]).toEqual([48, 11.5, now - 20 * 60_000]);
    expect(track.at(-1)).toEqual([48.1, 11.5, now]);
    expect((await open(short['slug'])).data['track']).toHaveLength(5);
    const arrival = (await open(none['slug'])).data as unknown as { track: number[][]; eta: string };
    expect(arrival.track).toEqual([]);
    // 33 km with the detour factor at 34 km/h: 76 minutes.
    for (const each of [eta, arrival.eta]) expect((Date.parse(each) - now) / 60_000).toBeCloseTo(76, -1);
  });

  it('requires the password, and counts no view for a wrong one', async () => {
    const link = await makeLink({ password: 'open sesame', max_views: 1 });
    const password = (value: string) => open(link['slug'], { 'x-share-password': value });
    expect((await open(link['slug'])).body).toMatchObject({ status: 401, code: 'share_password' });
    expect((await password('open barley')).body).toMatchObject({ status: 401, code: 'share_password' });
    expect((await password('open sesame')).status).toBe(200);
    expect((await password('open sesame')).body).toMatchObject({ status: 410, code: 'share_link_used_up' });
  });

  it.each([
    ['percent-encoded, as by browsers', ' пароль 😀 ', encodeURIComponent],
    ['as UTF-8, as by curl', 'Schlüssel', (text: string) => Buffer.from(text).toString('latin1')],
    ['as Latin-1', 'Schlüssel', (text: string) => text],
    ['raw, with a percent sign', '100%25', (text: string) => text],
  ])('accepts a password of any characters, %s', async (_name, password, written) => {
    const link = await makeLink({ password });
    expect((await open(link['slug'], { 'x-share-password': written(password) })).status).toBe(200);
    expect((await open(link['slug'], { 'x-share-password': written(`${password}x`) })).status).toBe(401);
  });

  it('counts concurrent views without exceeding the limit', async () => {
    const link = await makeLink({ max_views: 3 });
    const responses = await Promise.all(Array.from({ length: 12 }, () => open(link['slug'])));
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(3);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.map(({ body }) => (body as { code: string }).code)).toEqual(refused.map(() => 'share_link_used_up'));
    const past = await owner.get(`${links}?active=false&vehicle_id=${vehicleId}`);
    expect(past.items[0]).toMatchObject({ view_count: 3, max_views: 3 });
    expect(past.items[0]?.['last_viewed_at']).not.toBeNull();
  });

  it('returns 404 for unknown links, and 410 for links that have ended', async () => {
    for (const slug of [createSlug(), 'x', `${createSlug()}0`, '..%2F..', '%00'])
      expect((await open(slug)).body).toMatchObject({ status: 404 });
    const [revoked, expired] = [await makeLink(), await makeLink()];
    await owner.delete(`${links}/${revoked.id}`);
    expect((await open(revoked['slug'])).body).toMatchObject({ status: 410, code: 'share_link_revoked' });
    await shareLinkCollection(harness.records).update(harness.ours, expired.id, {
      expiresAt: new Date(Date.now() - 1),
    });
    const response = await open(expired['slug']);
    expect(response.body).toMatchObject({ status: 410, code: 'share_link_expired' });
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it('ends with its vehicle', async () => {
    const link = await makeLink();
    expect((await owner.delete(`/api/vehicles/${vehicleId}`)).status).toBe(200);
    await waitFor(async () => (await open(link['slug'])).status === 410);
  });

  it('is recorded in the audit log', async () => {
    const link = await makeLink();
    await open(link['slug']);
    const entries = await owner.get('/api/audit-log?action=share_links.open');
    expect(entries.items[0]).toMatchObject({
      user_id: null,
      target: { type: 'share_links', id: link['id'] },
      ip: expect.any(String),
    });
  });

  it('is rate-limited by address, and by link for passwords', async () => {
    const limited = await PlatformHarness.open({ RATE_LIMIT_SHARE_LINK_PER_MINUTE: '3' });
    try {
      const client = limited.as(limited.ours.owner);
      const made = await client.post('/api/vehicles', { vehicle_no: 'LIMIT' });
      const link = await client.post(links, { vehicle_id: made.data['id'], password: 'open sesame' });
      const slug = String(link.data['slug']);
      const guess = async () => (await client.get(`${links}/${slug}`, { 'x-share-password': 'wrong' })).status;
      expect([await guess(), await guess(), await guess(), await guess()]).toEqual([401, 401, 401, 429]);
      // Uses an address of its own, because all tests share a Redis.
      const from = {
        'x-forwarded-for': `2001:db8::${randomBytes(2).toString('hex')}:${randomBytes(2).toString('hex')}`,
      };
      const anyone = async () => (await limited.anonymous.get(`/api/public/share-links/${createSlug()}`, from)).status;
      expect([await anyone(), await anyone(), await anyone(), await anyone()]).toEqual([404, 404, 404, 429]);
    } finally {
      await limited.close();
    }
  });
});
