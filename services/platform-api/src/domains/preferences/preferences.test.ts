import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../../testing/platform-harness.ts';
import { merged } from './rules.ts';
import type { StoredConfig } from './schema.ts';
import { accountConfig } from './use-cases.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const me = '/api/user-preferences/me';
const config = '/api/global-config';

describe('merged', () => {
  it('merges one level deep: fields of nested objects are merged, deeper values are replaced', () => {
    const old = { a: 1, part: { x: 1, y: { z: 1 } }, list: [1, 2] };
    expect(merged(old, { part: { y: { w: 2 } }, list: [3] })).toEqual({ a: 1, part: { x: 1, y: { w: 2 } }, list: [3] });
    expect(merged({ part: { x: 1 } }, { part: null })).toEqual({ part: null });
  });
});

describe('GET and PUT /api/user-preferences/me', () => {
  it('starts with defaults in the language and time zone of the user', async () => {
    const user = await harness.user('driver', harness.ours, { language: 'hi', timezone: 'Asia/Kolkata' });
    const { status, data, headers } = await harness.as(user).get(me);
    expect(status).toBe(200);
    expect(data).toMatchObject({
      language: 'hi',
      timezone: 'Asia/Kolkata',
      speed_unit: 'kmh',
      notifications: { push: true, quiet_hours: null },
      dashboard: {},
      version: 1,
    });
    expect(headers.get('etag')).toBe('"1"');
  });

  it('merges one level deep for the caller only, accepts any field name in the dashboard, and clears with null', async () => {
    const client = harness.as(await harness.user('viewer'));
    await client.put(me, {
      map: { zoom: 3 },
      theme: 'dark',
      notifications: { quiet_hours: { from: '22:00', to: '06:00' } },
    });
    const changed = await client.put(me, {
      data: { map: { center: { lat: 1.5, lng: 2 } }, dashboard: { 'a.$b': [1] } },
    });
    expect(changed.status).toBe(200);
    expect(changed.data).toMatchObject({
      theme: 'dark',
      map: { zoom: 3, center: { lat: 1.5, lng: 2 }, clusters: true },
      notifications: { quiet_hours: { from: '22:00', to: '06:00' }, sound: true },
      dashboard: { 'a.$b': [1] },
    });
    await client.put(me, { notifications: { quiet_hours: null }, default_group_id: null });
    expect((await client.get(me)).data).toMatchObject({ notifications: { quiet_hours: null }, theme: 'dark' });
    expect((await harness.as(harness.ours.owner).get(me)).data).toMatchObject({ theme: 'system' });
  });

  it('applies concurrent changes, and rejects a change to an old version', async () => {
    const client = harness.as(await harness.user('manager'));
    const results = await Promise.all([
      client.put(me, { theme: 'dark' }),
      client.put(me, { speed_unit: 'mph' }),
      client.put(me, { map: { zoom: 7 } }),
      client.put(me, { map: { follow: true } }),
    ]);
    expect(results.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const { data, headers } = await client.get(me);
    expect(data).toMatchObject({ theme: 'dark', speed_unit: 'mph', map: { zoom: 7, follow: true } });
    expect((await client.put(me, { theme: 'light' }, { 'if-match': '"1"' })).body).toMatchObject({
      status: 412,
      code: 'version_mismatch',
    });
    const now = { 'if-match': headers.get('etag') ?? '' };
    expect((await client.put(me, { theme: 'light' }, now)).status).toBe(200);
  });

  it.each([
    ['/speed_unit', { speed_unit: 'parsec' }],
    ['/timezone', { timezone: 'Mars/Olympus' }],
    ['/timezone', { timezone: '+05:30' }],
    ['/language', { language: 'english language' }],
    ['/map/zoom', { map: { zoom: 'far' } }],
    ['/map/center/lat', { map: { center: { lat: 91, lng: 0 } } }],
    ['/notifications/quiet_hours/from', { notifications: { quiet_hours: { from: '25:00', to: '06:00' } } }],
    ['/dashboard', { dashboard: { text: 'a'.repeat(17_000) } }],
    ['/video/grid', { video: { grid: 0 } }],
    ['/default_group_id', { default_group_id: -1 }],
    ['', []],
  ])('rejects an invalid value at %s', async (path, body) => {
    const response = await harness.as(harness.ours.owner).put(me, body);
    expect(response.body).toMatchObject({ status: 400, code: 'validation_failed' });
    const { details } = response.body as { details: { path: string }[] };
    expect(details.map((detail) => detail.path)).toContain(path);
  });

  it('accepts only groups of the account', async () => {
    const [ours, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
    const { data: group } = await ours.post('/api/vehicle-groups', { name: 'Default' });
    expect((await ours.put(me, { default_group_id: group.id })).data).toMatchObject({ default_group_id: group.id });
    expect((await theirs.put(me, { default_group_id: group.id })).body).toMatchObject({
      status: 404,
      code: 'not_found',
    });
    expect((await ours.put(me, { default_group_id: null })).data).toMatchObject({ default_group_id: null });
    await ours.put(me, { default_group_id: group.id });
    expect((await ours.delete(`/api/vehicle-groups/${group.id}`)).status).toBe(200);
    expect((await ours.get(me)).data).toMatchObject({ default_group_id: null });
  });

  it('reports unknown fields as ignored, or rejects them in strict mode', async () => {
    const client = harness.as(await harness.user('owner'));
    const ignored = await client.put(me, { colour: 'blue', map: { pitch: 3 } });
    expect(ignored.body).toMatchObject({ meta: { ignored_fields: ['/map/pitch', '/colour'] } });
    expect((await client.put(me, { colour: 'blue' }, { 'x-strict-body': 'true' })).body).toMatchObject({
      code: 'unknown_field',
    });
  });
});

describe('GET and PUT /api/global-config', () => {
  it('is limited to owners and admins', async () => {
    for (const role of ['manager', 'viewer', 'driver'] as const) {
      const client = harness.as(await harness.user(role));
      expect((await client.get(config)).body).toMatchObject({ status: 403, code: 'permission_denied' });
      expect((await client.put(config, {})).status).toBe(403);
    }
    expect((await harness.as(await harness.user('admin')).get(config)).status).toBe(200);
  });

  it('is separate for each account and merges one level deep', async () => {
    const [ours, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
    await ours.put(config, { sms: { enabled: true, sender_id: 'FLEET' }, retention: { media_days: 30 } });
    const changed = await ours.put(config, { sms: { daily_limit: 5 } });
    expect(changed.data).toMatchObject({
      sms: { enabled: true, sender_id: 'FLEET', daily_limit: 5, provider: 'log' },
      retention: { media_days: 30, locations_days: 180 },
      email: { enabled: false, from: null },
    });
    expect((await theirs.get(config)).data).toMatchObject({ sms: { enabled: false, sender_id: null } });
    const entries = await ours.get('/api/audit-log?action=global_config.update');
    expect(entries.items[0]).toMatchObject({ detail: { parts: ['sms'] } });
  });

  it('falls back to the provider of the installation if that of the account is no longer configured', async () => {
    const client = harness.as(harness.theirs.owner);
    const { data } = await client.put(config, { sms: { sender_id: 'THEIRS' } });
    const stored = JSON.stringify({ sms: { provider: 'twilio', sender_id: 'THEIRS' }, push: { provider: 'fcm' } });
    const records = harness.records.collection<StoredConfig>('global_config');
    await records.updateOne({ _id: data.id }, { $set: { json: stored } });
    const response = { sms: { provider: 'log', sender_id: 'THEIRS' }, push: { provider: 'log' } };
    expect((await client.get(config)).data).toMatchObject(response);
    expect(await accountConfig(harness.deps, harness.theirs)).toMatchObject(response);
  });

  it('rejects providers without settings, unknown types and values out of range', async () => {
    const client = harness.as(harness.ours.owner);
    expect((await client.put(config, { sms: { provider: 'twilio' } })).body).toMatchObject({
      status: 503,
      code: 'provider_not_configured',
    });
    expect((await client.put(config, { push: { provider: 'log' } })).status).toBe(200);
    expect((await client.put(config, { push: { notification_types: ['sos', 'nonsense'] } })).body).toMatchObject({
      status: 400,
      details: [{ path: '/push/notification_types/1' }],
    });
    expect((await client.put(config, { email: { from: 'nobody' } })).status).toBe(400);
    expect((await client.put(config, { retention: { media_days: 0 } })).status).toBe(400);
  });
});
