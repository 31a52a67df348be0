import { notifyWebhookOwner, request } from '@fleet/bus';
import type { AttemptRecord } from '@fleet/storage';
import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MessageRefusedError } from '../../providers/message-sender.ts';
import { startFakeDispatcher } from '../../testing/fake-dispatcher.ts';
import { type Client, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { notificationCollection } from '../notifications/store.ts';
import { notifyOwner } from './owner-notices.ts';
import { webhookRepository } from './store.ts';

jest.setTimeout(60_000);
let redis: ServerProcess;
let harness: PlatformHarness;
let user: TestUser;
let client: Client;
let webhookId: number;
let at: string;
const served: { stop(): Promise<void> }[] = [];
beforeAll(async () => {
  // Each harness starts webhook ids again, so limits are counted in a separate Redis.
  redis = await (await ServerProcess.redis()).start();
  harness = await PlatformHarness.open({
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
    RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE: '3',
  });
});
afterAll(async () => {
  await harness.close();
  await redis.remove();
});
beforeEach(async () => {
  await Promise.all(served.splice(0).map((each) => each.stop()));
  user = await harness.user('manager');
  client = harness.as(user);
  webhookId = (await client.post('/api/user-webhooks', { url: 'https://9.9.9.9/hook?key=1' })).data.id;
  at = `/api/user-webhooks/${webhookId}`;
});

function dispatcher(responses: Parameters<typeof startFakeDispatcher>[1] = {}) {
  const stub = startFakeDispatcher(harness.bus, responses);
  served.push(stub);
  return stub;
}

let notificationId = 0;
const add = (more: object = {}, atMs?: number): Promise<string> =>
  webhookRepository(harness.deps).deliveries.add(
    {
      webhookId,
      accountId: user.accountId,
      userId: user.id,
      notificationId: (notificationId += 1),
      notificationType: 'sos',
      imei: '013800138000',
      imeiKey: '13800138000',
      vehicleId: 5,
      body: '{"notification":{}}',
      status: 'pending',
      ...more,
    },
    atMs,
  );

const attempt: AttemptRecord = {
  number: 1,
  trigger: 'schedule',
  startedAtMs: 1_790_000_000_000,
  durationMs: 120,
  statusCode: 500,
  errorCode: null,
  responseBody: 'no',
};

async function attempted(id: string, status: 'succeeded' | 'failed', more: Partial<AttemptRecord> = {}): Promise<void> {
  const records = webhookRepository(harness.deps);
  const claimed = await records.deliveries.find(id);
  if (claimed === null) throw new Error('not there');
  const request = { headers: [{ name: 'X-Webhook-Secret', value: '****cret' }], body: '{"date":1}' };
  await records.deliveries.recordAttempt(claimed, {
    status,
    attempt: { ...attempt, ...more },
    request,
    nextAttemptAtMs: null,
  });
}

describe('deliveries', () => {
  it('are listed newest first, by status, type, terminal and time', async () => {
    const early = Date.parse('2026-01-31T08:00:00Z');
    const [first, second] = [await add({}, early), await add({ notificationType: 'geofence', status: 'skipped' })];
    await attempted(first, 'failed');
    const { status, items, body } = await client.get(`${at}/deliveries`);
    expect(status).toBe(200);
    expect(items).toEqual([
      expect.objectContaining({ delivery_id: second, status: 'skipped', next_attempt_at: null, last_attempt: null }),
      {
        id: expect.any(Number),
        version: 2,
        created_at: '2026-01-31T08:00:00.000Z',
        updated_at: expect.any(String),
        delivery_id: first,
        webhook_id: webhookId,
        notification_id: notificationId - 1,
        notification_type: 'sos',
        imei: '013800138000',
        status: 'failed',
        attempt_count: 1,
        next_attempt_at: null,
        completed_at: expect.any(String),
        last_attempt: {
          started_at: new Date(attempt.startedAtMs).toISOString(),
          duration_ms: 120,
          status_code: 500,
          error_code: null,
        },
      },
    ]);
    expect(body).toMatchObject({ meta: { pagination: { total: 2 } } });
    const found = async (query: string) =>
      (await client.get(`${at}/deliveries?${query}`)).items.map((item) => item['delivery_id']);
    expect(await found('status=failed')).toEqual([first]);
    expect(await found('type=geofence')).toEqual([second]);
    expect(await found('notification_type=geofence')).toEqual([second]);
    expect((await client.get(`${at}/deliveries?notification_type=nonsense`)).body).toMatchObject({
      status: 400,
      details: [{ path: '/notification_type', message: 'must name notification types; "nonsense" is not one' }],
    });
    expect(await found('imei=00000000013800138000')).toEqual([second, first]);
    expect(await found('imei=1')).toEqual([]);
    expect(await found('to=2026-01-31T09:00:00Z')).toEqual([first]);
    expect(await found(`from=${early + 1}`)).toEqual([second]);
    expect(await found('limit=1&offset=1')).toEqual([first]);
    expect((await client.get(`${at}/deliveries?from=yesterday`)).body).toMatchObject({ code: 'bad_date' });
    expect((await client.get(`${at}/deliveries?status=lost`)).status).toBe(400);
  });

  it('are returned with the request and all attempts', async () => {
    const id = await add();
    expect((await client.get(`${at}/deliveries/${id}`)).data).toMatchObject({ request: null, attempts: [] });
    await attempted(id, 'succeeded', { statusCode: 204 });
    const { data } = await client.get(`${at}/deliveries/${id}`);
    expect(data).toMatchObject({
      delivery_id: id,
      status: 'succeeded',
      request: { headers: { 'X-Webhook-Secret': '****cret' }, body: '{"date":1}' },
      attempts: [
        {
          number: 1,
          trigger: 'schedule',
          started_at: new Date(attempt.startedAtMs).toISOString(),
          duration_ms: 120,
          status_code: 204,
          error_code: null,
          response_body: 'no',
        },
      ],
    });
    for (const wrong of ['0'.repeat(24), 'x', '0'.repeat(32)])
      expect((await client.get(`${at}/deliveries/${wrong}`)).status).toBe(404);
  });

  it('are counted over the last 24 hours', async () => {
    const none = { total: 0, succeeded: 0, failed: 0, skipped: 0, pending: 0 };
    expect((await client.get(`${at}/stats`)).data).toEqual({ ...none, success_rate: null, p50_ms: null, p95_ms: null });
    for (const durationMs of [10, 20, 30]) await attempted(await add(), 'succeeded', { durationMs });
    await attempted(await add(), 'failed', { durationMs: 900 });
    await add();
    await add({ status: 'skipped' });
    await attempted(await add({}, Date.now() - 25 * 3_600_000), 'failed');
    expect((await client.get(`${at}/stats`)).data).toEqual({
      total: 6,
      succeeded: 3,
      failed: 1,
      skipped: 1,
      pending: 1,
      success_rate: 0.75,
      p50_ms: 20,
      p95_ms: 900,
    });
  });

  it('are counted in equal parts of a chosen time span', async () => {
    const nowMs = Date.now();
    await attempted(await add({}, nowMs - 90 * 60_000), 'failed');
    for (const minutes of [10, 20]) await attempted(await add({}, nowMs - minutes * 60_000), 'succeeded');
    await add({ status: 'skipped' }, nowMs - 5 * 60_000);
    const { data } = await client.get(`${at}/stats?hours=2&buckets=2`);
    expect(data).toMatchObject({ total: 4, succeeded: 2, failed: 1 });
    expect(data['series']).toEqual([
      { from: expect.any(String), succeeded: 0, failed: 1, skipped: 0 },
      { from: expect.any(String), succeeded: 2, failed: 0, skipped: 1 },
    ]);
    expect((await client.get(`${at}/stats?hours=1`)).data).toMatchObject({ total: 3, failed: 0 });
    for (const wrong of ['hours=0', 'hours=169', 'buckets=49'])
      expect((await client.get(`${at}/stats?${wrong}`)).status).toBe(400);
  });

  it('are canceled with their webhook while they are pending', async () => {
    const [waiting, done] = [await add(), await add()];
    await attempted(done, 'succeeded');
    const records = webhookRepository(harness.deps);
    await records.schedule.set({ _id: waiting, webhookId, dueAtMs: Date.now() + 1_000_000 });
    await client.delete(at);
    expect(await records.deliveries.find(waiting)).toMatchObject({ status: 'canceled', nextAttemptAtMs: null });
    expect(await records.deliveries.find(done)).toMatchObject({ status: 'succeeded' });
    const due = await records.schedule.findDue([], 1_000, Date.now() + 2_000_000);
    expect(due.filter((each) => each.webhookId === webhookId)).toEqual([]);
  });

  it('are retried, unless an attempt is in progress', async () => {
    const id = await add({ status: 'skipped' });
    const retry = `${at}/deliveries/${id}/retry`;
    expect((await client.post(retry)).body).toMatchObject({ status: 503, code: 'unavailable' });
    const { requests: requested } = dispatcher();
    const { status, data } = await client.post(retry);
    expect(status).toBe(202);
    expect(data).toMatchObject({ delivery_id: id });
    expect(requested).toEqual([{ webhookId, deliveryId: id }]);
    await Promise.all(served.splice(0).map((each) => each.stop()));
    dispatcher({ result: 'running' });
    expect((await client.post(retry)).body).toMatchObject({ status: 409, code: 'state_conflict' });
    // The default is ten a minute; here it is three.
    const limited = await client.post(retry);
    expect(limited.body).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await client.post(`${at}/deliveries/${'0'.repeat(24)}/retry`)).status).toBe(404);
  });

  it('are replayed by time and status', async () => {
    const { requests: requested } = dispatcher({ queued: 7 });
    const { status, data } = await client.post(`${at}/replay`, { since: '2026-01-31T08:00:00Z' });
    expect([status, data]).toEqual([202, { queued: 7 }]);
    const until = Date.parse('2026-02-01T00:00:00Z');
    await client.post(`${at}/replay`, { since: '0', until: String(until), statuses: ['skipped', 'skipped'] });
    expect(requested).toEqual([
      { webhookId, sinceMs: Date.parse('2026-01-31T08:00:00Z'), untilMs: null, statuses: ['failed', 'skipped'] },
      { webhookId, sinceMs: 0, untilMs: until, statuses: ['skipped'] },
    ]);
    for (const wrong of [{}, { since: 'x' }, { since: '0', statuses: [] }, { since: '0', statuses: ['succeeded'] }])
      expect((await client.post(`${at}/replay`, wrong)).status).toBe(400);
    await client.put(at, { enabled: false });
    expect((await client.post(`${at}/replay`, { since: '0' })).body).toMatchObject({
      status: 409,
      code: 'state_conflict',
    });
  });

  it('are visible only to the owner of the webhook', async () => {
    const id = await add();
    dispatcher();
    for (const other of [harness.ours.owner, harness.theirs.owner]) {
      const by = harness.as(other);
      for (const path of ['/deliveries', `/deliveries/${id}`, '/stats'])
        expect([path, (await by.get(at + path)).status]).toEqual([path, 404]);
      for (const [path, body] of [
        ['/test', {}],
        [`/deliveries/${id}/retry`, undefined],
        ['/replay', { since: '0' }],
      ] as const)
        expect([path, (await by.post(at + path, body)).status]).toEqual([path, 404]);
    }
    const second = await client.post('/api/user-webhooks', { url: 'https://9.9.9.9/other' });
    expect((await client.get(`/api/user-webhooks/${second.data.id}/deliveries/${id}`)).status).toBe(404);
  });
});

describe('test delivery', () => {
  it('returns the attempt, whatever its outcome', async () => {
    const { requests: requested } = dispatcher();
    const { status, data } = await client.post(`${at}/test`, { notification_type: 'geofence' });
    expect(status).toBe(200);
    expect(data).toMatchObject({ number: 1, trigger: 'test', status_code: 204, error_code: null });
    expect((await client.post(`${at}/test`)).status).toBe(200);
    expect(requested).toEqual([
      { webhookId, notificationType: 'geofence' },
      { webhookId, notificationType: 'sos' },
    ]);
    expect((await client.post(`${at}/test`, { notification_type: 'nothing' })).body).toMatchObject({
      status: 400,
      details: [{ path: '/notification_type' }],
    });
  });
});

describe('owner of a failing webhook', () => {
  const notice = { failingSinceMs: 1_790_000_000_000, atMs: 1_790_200_000_000 };

  it('is notified once by a notification of the vehicle, and by mail', async () => {
    const imei = `1${String(process.hrtime.bigint() % 100_000_000_000n).padStart(11, '0')}`;
    const vehicle = await client.post('/api/vehicles', { vehicle_no: `H${webhookId}`, imei });
    const published = {
      webhookId,
      percent: 90 as const,
      reason: 'failing' as const,
      vehicleId: vehicle.data.id,
      ...notice,
    };
    for (let i = 0; i < 2; i += 1)
      expect(await request(harness.bus, notifyWebhookOwner, published, { timeoutMs: 10_000 })).toEqual({ told: true });
    const found = await notificationCollection(harness.records).all(user, { vehicleId: vehicle.data.id });
    expect(found).toMatchObject([{ type: 'webhook_disabled', timestamp: notice.atMs, vehicleId: vehicle.data.id }]);
    expect(JSON.parse(found[0]?.attributes ?? '')).toMatchObject({
      webhook_id: webhookId,
      percent: 90,
      disabled: false,
      reason: 'failing',
      failing_since: new Date(notice.failingSinceMs).toISOString(),
    });
    const mails = harness.sent.filter(({ to }) => to === user.email);
    expect(mails.at(-1)).toMatchObject({ kind: 'mail', subject: 'A webhook is failing' });
    expect(mails.at(-1)?.text).toContain('90 %');
    // The part of the URL after the host may contain a secret.
    expect(mails.at(-1)?.text).not.toContain('key=1');
  });

  it('is not notified again if the address was refused, but retried if the mail provider is unavailable', async () => {
    const published = { webhookId, percent: 50 as const, reason: 'failing' as const, vehicleId: 999_999, ...notice };
    const by = (error: Error) => ({ ...harness.deps, messages: { send: () => Promise.reject(error) } });
    await expect(notifyOwner(by(new MessageRefusedError('no address')), published)).resolves.toBe(false);
    await expect(notifyOwner(by(new Error('away')), published)).rejects.toThrow('away');
  });

  it('is notified by mail only if the vehicle was deleted, and not at all if the webhook was', async () => {
    const published = { webhookId, percent: 100 as const, reason: 'gone' as const, vehicleId: 999_999, ...notice };
    expect(await request(harness.bus, notifyWebhookOwner, published, { timeoutMs: 10_000 })).toEqual({ told: true });
    expect(harness.sent.at(-1)).toMatchObject({ to: user.email, subject: 'A webhook was disabled' });
    const missing = { ...published, webhookId: 999_999 };
    expect(await request(harness.bus, notifyWebhookOwner, missing, { timeoutMs: 10_000 })).toEqual({ told: false });
  });
});
