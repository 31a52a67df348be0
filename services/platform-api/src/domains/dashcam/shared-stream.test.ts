import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let api: Client;
let imei: string;
let vehicleId: number;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  api = harness.as(harness.ours.owner);
  imei = newImei();
  const channels = [{ channel_id: 1 }, { channel_id: 2 }, { channel_id: 3, enabled: false }];
  vehicleId = (await api.post('/api/vehicles', { vehicle_no: 'SHARED 1', imei, channels })).data.id;
});
afterAll(() => harness?.close());

const newLink = async (more: object = {}): Promise<string> => {
  const link = { vehicle_id: vehicleId, expires_in_hours: 1, permissions: ['location', 'live_video'], ...more };
  return String((await api.post('/api/share-links', link)).data['slug']);
};
const watch = (slug: string, body: object = {}, headers: Record<string, string> = {}) =>
  harness.with(headers).post(`/api/public/share-links/${slug}/stream`, body);

describe('POST /api/public/share-links/:slug/stream', () => {
  it('returns addresses of a camera that name neither the device nor the vehicle', async () => {
    const slug = await newLink();
    const { status, data, headers } = await watch(slug, { channel_id: 2 });
    expect(status).toBe(200);
    expect(data).toMatchObject({ channel_id: 2, status: 'stopped', phase: null, viewers: 0 });
    expect(data['stream_url']).toMatch(new RegExp(`^http://[^/]+/s/${slug}/2/stream\\.flv\\?token=`));
    expect(data['ws_flv_url']).toMatch(/^ws:/);
    expect(Date.parse(String(data['token_expires_at']))).toBeGreaterThan(Date.now());
    expect(JSON.stringify(data)).not.toContain(imei);
    expect(Object.keys(data)).not.toEqual(expect.arrayContaining(['imei']));
    expect(Object.keys(data)).not.toEqual(expect.arrayContaining(['vehicle_id']));
    expect(headers.get('cache-control')).toBe('no-store');
    expect((await watch(slug)).data['channel_id']).toBe(1);
  });

  it('accepts the ticket of an opened link instead of its password, without counting a view', async () => {
    const slug = await newLink({ password: 'secret', max_views: 1 });
    expect((await watch(slug)).status).toBe(401);
    const opened = await harness.with({ 'x-share-password': 'secret' }).get(`/api/public/share-links/${slug}`);
    const ticket = new URL(String(opened.data['ws_url'])).searchParams.get('ticket');
    expect((await watch(slug, { ticket })).status).toBe(200);
    expect((await watch(slug, { ticket: 'forged' })).status).toBe(410);
    expect((await watch(slug, {}, { 'x-share-password': 'secret' })).status).toBe(410);
  });

  it('is 403 without live video, 404 for other cameras and links, and 410 after the end', async () => {
    expect((await watch(await newLink({ permissions: ['location'] }))).status).toBe(403);
    expect((await watch(await newLink(), { channel_id: 3 })).status).toBe(404);
    expect((await watch('A1b2C3d4E5f6G7h8I9j0K1')).status).toBe(404);
    const created = await api.post('/api/share-links', {
      vehicle_id: vehicleId,
      expires_in_hours: 1,
      permissions: ['live_video'],
    });
    expect((await api.delete(`/api/share-links/${String(created.data.id)}`)).status).toBe(200);
    expect((await watch(String(created.data['slug']))).status).toBe(410);
  });
});
