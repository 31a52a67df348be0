import { webhookSecretPurpose } from '@fleet/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { toStatus, toStoredHeaders } from './rules.ts';
import { webhookCollection, webhookRepository } from './store.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let client: Client;
let userId: number;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());
beforeEach(async () => {
  const user = await harness.user('manager');
  userId = user.id;
  client = harness.as(user);
});

const path = '/api/user-webhooks';
// A public IP address, so that nothing is resolved. Nothing is sent to it.
const url = 'https://9.9.9.9/fleet/hook?key=1';
const make = (more: object = {}, by = client) => by.post(path, { url, ...more });
const pathsOf = (body: unknown) => (body as { details: { path: string }[] }).details.map((detail) => detail.path);

describe('rules', () => {
  it('storedHeaders accepts headers that the platform does not set', () => {
    expect(toStoredHeaders({ Authorization: 'Bearer x', 'X-Tenant': '7' })).toHaveLength(2);
    const refused = ['Host', 'content-length', 'Content-Encoding', 'CONNECTION', 'User-Agent', 'X-Webhook-Secret'];
    for (const name of [
      ...refused,
      'webhook-id',
      'Transfer-Encoding',
      'Proxy-Authorization',
      'Expect',
      'a b',
      '',
      'ä:',
    ])
      expect(() => toStoredHeaders({ [name]: 'x' })).toThrow(/set by the platform|valid header name/);
    expect(() => toStoredHeaders({ 'X-A': '1', 'x-a': '2' })).toThrow(/more than once/);
  });

  it('statusOf returns the status of a webhook', () => {
    const health = { disabledReason: null, failingSince: null };
    expect(toStatus({ enabled: true }, health)).toBe('active');
    expect(toStatus({ enabled: true }, { ...health, failingSince: new Date() })).toBe('failing');
    expect(toStatus({ enabled: true }, { failingSince: new Date(), disabledReason: 'gone' })).toBe('disabled');
    expect(toStatus({ enabled: false }, health)).toBe('disabled');
  });
});

describe('POST /api/user-webhooks', () => {
  it('creates a webhook and returns its secret only once', async () => {
    const { status, data: webhook, headers } = await make({ secret: 'top-secret' });
    expect(status).toBe(201);
    expect(webhook).toMatchObject({
      url,
      secret: 'top-secret',
      secret_hint: 'cret',
      name: null,
      enabled: true,
      status: 'active',
      notification_types: [],
      vehicle_ids: [],
      headers: {},
      disabled_reason: null,
      consecutive_failures: 0,
      last_success_at: null,
      version: 1,
    });
    expect(headers.get('location')).toBe(`${path}/${String(webhook['id'])}`);
    for (const response of [await client.get(path), await client.get(`${path}/${String(webhook['id'])}`)]) {
      expect(response.status).toBe(200);
      expect(JSON.stringify(response.body)).not.toContain('top-secret');
    }
  });

  it('stores the secret sealed', async () => {
    const made = await make({ secret: 'not-in-clear' });
    const stored = await webhookCollection(harness.records).find(harness.ours, made.data.id);
    expect(JSON.stringify(stored)).not.toContain('not-in-clear');
    expect(harness.deps.encryption.open(stored?.sealedSecret ?? '', webhookSecretPurpose(userId))).toBe('not-in-clear');
  });

  it('generates a secret by default, and omits it when the request is repeated', async () => {
    const key = { 'idempotency-key': `webhook-${userId}` };
    const first = await client.post(path, { url }, key);
    const secret = String(first.data['secret']);
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(Buffer.from(secret.slice(6), 'base64')).toHaveLength(32);
    const second = await client.post(path, { url }, key);
    expect(second.data).toMatchObject({ id: first.data['id'], secret: null });
    expect((await client.post(path, { url: `${url}&b` }, key)).body).toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('accepts all options', async () => {
    const vehicle = await client.post('/api/vehicles', { vehicle_no: `W${userId}` });
    const id = vehicle.data['id'];
    const options = {
      name: 'ERP',
      notification_types: ['sos', 'geofence', 'sos'],
      vehicle_ids: [id, id],
      headers: { 'X-Tenant.$key': '7' },
      enabled: false,
    };
    expect((await make(options)).data).toMatchObject({
      ...options,
      notification_types: ['sos', 'geofence'],
      vehicle_ids: [id],
      status: 'disabled',
    });
  });

  it.each([
    'http://9.9.9.9/',
    'https://localhost/',
    'https://127.0.0.1/',
    'https://2130706433/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://169.254.169.254/latest/meta-data',
    'https://10.0.0.1/',
    'https://192.168.1.1:8443/',
    'https://100.64.0.1/',
    'https://9.9.9.9:22/',
    'https://user:pw@9.9.9.9/',
    'https://9.9.9.9/#part',
    'https://no-such-host.invalid/',
    `https://9.9.9.9/${'a'.repeat(2_048)}`,
    'hooks',
    '',
  ])('rejects the address %.40s', async (wrong) => {
    const { body } = await make({ url: wrong });
    expect(body).toMatchObject({ status: 400, code: 'validation_failed' });
    expect(pathsOf(body)).toEqual(['/url']);
  });

  it.each([
    ['/secret', { secret: 'short' }],
    ['/secret', { secret: 'has a blank' }],
    ['/secret', { secret: 'a'.repeat(129) }],
    ['/name', { name: 'a'.repeat(101) }],
    ['/notification_types/0', { notification_types: ['everything'] }],
    ['/headers/Host', { headers: { Host: 'x' } }],
    ['/headers/X-A', { headers: { 'X-A': 'a\r\nb' } }],
    ['/headers', { headers: Object.fromEntries(Array.from({ length: 11 }, (_u, i) => [`X-${i}`, '1'])) }],
    ['/vehicle_ids/0', { vehicle_ids: ['1'] }],
    ['/enabled', { enabled: 'yes' }],
  ])('rejects an invalid value at %s', async (at, more) => {
    const { body } = await make(more);
    expect(body).toMatchObject({ status: 400 });
    expect(pathsOf(body)).toContain(at);
  });

  it('rejects a vehicle of another account', async () => {
    const theirs = await harness.as(harness.theirs.owner).post('/api/vehicles', { vehicle_no: `T${userId}` });
    const { body } = await make({ vehicle_ids: [theirs.data['id']] });
    expect(body).toMatchObject({ status: 404, code: 'vehicle_not_found' });
  });

  it('is limited to managers and above, keys with the scope webhook, and ten webhooks per user', async () => {
    for (const role of ['viewer', 'driver'] as const)
      expect((await make({}, harness.as(await harness.user(role)))).body).toMatchObject({ code: 'permission_denied' });
    for (let i = 0; i < 10; i += 1) expect((await make()).status).toBe(201);
    expect((await make()).body).toMatchObject({ status: 409, code: 'limit_reached' });
    expect((await client.get(path)).body).toMatchObject({ meta: { pagination: { total: 10 } } });
  });
});

describe('GET, PUT and DELETE /api/user-webhooks/:id', () => {
  let one: string;
  beforeEach(async () => {
    one = `${path}/${String((await make({ headers: { 'X-A': '1' } })).data['id'])}`;
  });

  it('changes the given fields', async () => {
    const changed = await client.put(one, { name: 'second', url: 'https://1.1.1.1:8443/', headers: { 'X-B': '2' } });
    expect(changed.status).toBe(200);
    expect(changed.data).toMatchObject({
      name: 'second',
      url: 'https://1.1.1.1:8443/',
      headers: { 'X-B': '2' },
    });
    const cleared = await client.put(one, { name: null, notification_types: [] });
    expect(cleared.data).toMatchObject({ name: null, headers: { 'X-B': '2' }, version: 3 });
    const resecreted = await client.put(one, { secret: 'another-secret' });
    expect(resecreted.data).toMatchObject({ secret_hint: 'cret' });
    expect(resecreted.data).not.toHaveProperty('secret');
    expect((await client.put(one, { url: 'https://10.1.1.1/' })).body).toMatchObject({ details: [{ path: '/url' }] });
    expect((await client.put(one, { name: 'late' }, { 'if-match': '"1"' })).body).toMatchObject({
      code: 'version_mismatch',
    });
    const ignored = await client.put(one, { status: 'active', secret_hint: 'x' });
    expect(ignored.body).toMatchObject({ meta: { ignored_fields: ['/status', '/secret_hint'] } });
  });

  it('resets the health when it is enabled', async () => {
    const id = Number(one.split('/').at(-1));
    const lastFailureAt = new Date();
    await webhookRepository(harness.deps).saveHealth({
      _id: id,
      epoch: 0,
      disabledReason: 'gone',
      failingSince: lastFailureAt,
      consecutiveFailures: 9,
      lastSuccessAt: null,
      lastFailureAt,
      noticedPercent: 100,
      dueNotice: null,
    });
    expect((await client.get(one)).data).toMatchObject({ status: 'disabled', disabled_reason: 'gone' });
    expect((await client.put(one, { name: 'x' })).data).toMatchObject({ status: 'disabled' });
    expect((await client.put(one, { enabled: true })).data).toMatchObject({
      status: 'active',
      disabled_reason: null,
      failing_since: null,
      consecutive_failures: 0,
      last_failure_at: lastFailureAt.toISOString(),
    });
    expect((await client.put(one, { enabled: false })).data).toMatchObject({ status: 'disabled' });
  });

  it('is removed once', async () => {
    const removed = await client.delete(one);
    expect(removed.data).toMatchObject({ url });
    expect((await client.delete(one)).status).toBe(404);
    expect((await client.get(one)).status).toBe(404);
  });

  it('is visible only to its owner, not to other users of the account or of other accounts', async () => {
    for (const other of [harness.ours.owner, harness.theirs.owner]) {
      const by = harness.as(other);
      expect((await by.get(one)).status).toBe(404);
      expect((await by.put(one, { name: 'mine' })).status).toBe(404);
      expect((await by.delete(one)).status).toBe(404);
      expect((await by.post(`${one}/regenerate-secret`)).status).toBe(404);
      expect((await by.get(path)).items).toEqual([]);
    }
    for (const id of ['0', 'x', '-1', '999999999']) expect((await client.get(`${path}/${id}`)).status).toBe(404);
  });

  it('drops deleted vehicles except the last one, so that it never applies to all vehicles, even if all are deleted concurrently', async () => {
    const owner = harness.as(harness.ours.owner);
    const vehicle = async (vehicle_no: string) => (await owner.post('/api/vehicles', { vehicle_no })).data.id;
    const [a, b, c] = [await vehicle('Hook A'), await vehicle('Hook B'), await vehicle('Hook C')];
    const of = async (...vehicle_ids: number[]) => (await make({ vehicle_ids }, owner)).data.id;
    const [several, only] = [await of(a, b, c), await of(c)];
    const named = async (id: number) => (await owner.get(`${path}/${id}`)).data['vehicle_ids'];
    await owner.delete(`/api/vehicles/${c}`);
    expect([await named(several), await named(only)]).toEqual([[a, b], [c]]);
    const deleted = await Promise.all([a, b].map((id) => owner.delete(`/api/vehicles/${id}`)));
    expect(deleted.map(({ status }) => status)).toEqual([200, 200]);
    expect([[a], [b]]).toContainEqual(await named(several));
  });

  it('gets another secret, and retains the old one for the grace period', async () => {
    const id = Number(one.split('/').at(-1));
    const open = (sealed: string | null | undefined) =>
      harness.deps.encryption.open(sealed ?? '', webhookSecretPurpose(userId));
    const before = open((await webhookCollection(harness.records).find(harness.ours, id))?.sealedSecret);
    const { status, data } = await client.post(`${one}/regenerate-secret`, { grace_hours: 2 });
    expect(status).toBe(200);
    const stored = await webhookCollection(harness.records).find(harness.ours, id);
    expect(open(stored?.sealedSecret)).toBe(data['secret']);
    expect(open(stored?.sealedOldSecret)).toBe(before);
    expect(((stored?.graceUntil?.getTime() ?? 0) - Date.now()) / 3_600_000).toBeCloseTo(2, 1);
    const given = await client.post(`${one}/regenerate-secret`, { secret: 'chosen-by-hand' });
    expect(given.data).toMatchObject({ secret: 'chosen-by-hand', secret_hint: 'hand' });
    const at = await webhookCollection(harness.records).find(harness.ours, id);
    expect(at).toMatchObject({ sealedOldSecret: null, graceUntil: null });
    expect((await client.post(`${one}/regenerate-secret`)).data['secret']).not.toBe('chosen-by-hand');
    expect((await client.post(`${one}/regenerate-secret`, { grace_hours: 73 })).status).toBe(400);
  });
});
