import { createHmac } from 'node:crypto';
import { type LiveEvents, liveEvents, request, subscribe, webhookRequests } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DispatcherHarness } from './testing/harness.ts';
import { respondWith, TestReceiver } from './testing/test-receiver.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DispatcherHarness;
const receivers: TestReceiver[] = [];
beforeAll(async () => {
  harness = await DispatcherHarness.open();
  await harness.startDispatcher();
});
afterAll(async () => {
  await harness.close();
  await Promise.all(receivers.map((each) => each.stop()));
});

async function receive(...given: Parameters<typeof TestReceiver.start>): Promise<TestReceiver> {
  const receiver = await TestReceiver.start(...given);
  receivers.push(receiver);
  return receiver;
}

/** Returns the notification that the harness publishes, as receivers see it. */
const sosNotification = (id: number, title: string) => ({
  title,
  description: 'The driver pressed the emergency button.',
  notification_type: 'sos',
  imei: '013800138000',
  timestamp: 1_790_000_000_000,
  server_timestamp: 1_790_000_000_100 + id,
  location: { latitude: 22.5, longitude: 114.01 },
  id,
  severity: 'critical',
  attributes: { gps_valid: true },
});

describe('a delivery', () => {
  it('is published after each attempt for the user of the webhook', async () => {
    const published: LiveEvents['events'] = [];
    const onError = (error: unknown): void => {
      throw error;
    };
    const listening = subscribe(harness.bus, liveEvents, onError, ({ events }) => void published.push(...events));
    await harness.bus.nc.flush();
    let attempts = 0;
    const receiver = await receive((response) => {
      attempts += 1;
      response.writeHead(attempts === 1 ? 500 : 204).end();
    });
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1);
    await waitFor(() => published.length === 2);
    listening.stop();
    const { _id, vehicleId } = await harness.findDelivery(webhook);
    expect(published).toMatchObject([
      { data: { status: 'pending', attempt_count: 1, last_attempt: { status_code: 500 } } },
      { data: { status: 'succeeded', attempt_count: 2, next_attempt_at: null, last_attempt: { status_code: 204 } } },
    ]);
    for (const event of published)
      expect(event).toMatchObject({
        type: 'delivery',
        userId: webhook.userId,
        vehicleId,
        data: { delivery_id: _id, webhook_id: webhook._id },
      });
  });

  it('is one POST with the envelope of the interface, field by field', async () => {
    const receiver = await receive(respondWith(204));
    const webhook = await harness.createWebhook(receiver.url('/a/hook?key=1&b=%20'), {
      secret: 'top-secret-1',
      headers: [{ name: 'X-Tenant', value: '7' }],
    });
    const notificationId = await harness.publishNotification(webhook.userId, { title: 'SOS ‒ Ünïcode' });
    await harness.waitForStatuses(webhook, 1);
    const [received] = receiver.received;
    const delivery = await harness.findDelivery(webhook);
    expect(receiver.received).toHaveLength(1);
    expect(received).toMatchObject({ method: 'POST', url: '/a/hook?key=1&b=%20' });
    if (received === undefined) throw new Error('no request arrived');
    const { envelope, headers, raw } = received;
    expect(JSON.parse(envelope.body)).toEqual({
      notification: sosNotification(notificationId, 'SOS ‒ Ünïcode'),
      user: webhook.userId,
    });
    const bytes = Buffer.byteLength(envelope.body);
    expect(envelope).toEqual({
      date: expect.any(Number),
      headers: {
        'X-Webhook-Secret': ['top-secret-1'],
        'Content-Type': ['application/json; charset=utf-8'],
        'User-Agent': [headers['user-agent']],
        'Webhook-Id': [`msg_${delivery._id}`],
        'Webhook-Timestamp': [String(Math.floor(envelope.date / 1_000))],
        'X-Tenant': ['7'],
        'Content-Length': [String(bytes)],
      },
      content_length: bytes,
      body: delivery.body,
      method: 'POST',
      path: '/a/hook',
      query: 'key=1&b=%20',
    });
    expect(Math.abs(envelope.date - Date.now())).toBeLessThan(60_000);
    expect(headers).toMatchObject({
      host: `127.0.0.1:${receiver.port}`,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(raw)),
      'x-webhook-secret': 'top-secret-1',
      'x-tenant': '7',
      'webhook-id': `msg_${delivery._id}`,
      'webhook-attempt': '1',
      'webhook-signature': sign('top-secret-1', received.id, envelope, raw),
    });
  });

  it('is recorded with its attempt and without secrets', async () => {
    const receiver = await receive(respondWith(204));
    const webhook = await harness.createWebhook(receiver.url('/'), { secret: 'top-secret-1' });
    const notificationId = await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1);
    const delivery = await harness.findDelivery(webhook);
    expect(delivery).toMatchObject({
      status: 'succeeded',
      notificationId,
      notificationType: 'sos',
      imei: '013800138000',
      imeiKey: '13800138000',
      attemptCount: 1,
      nextAttemptAtMs: null,
      completedAtMs: expect.any(Number),
    });
    expect(delivery._id).toMatch(/^[0-9a-f]{24}$/);
    expect(delivery.attempts).toEqual([
      {
        number: 1,
        trigger: 'schedule',
        startedAtMs: receiver.received[0]?.envelope.date,
        durationMs: expect.any(Number),
        statusCode: 204,
        errorCode: null,
        responseBody: '',
      },
    ]);
    // The stored request contains no secret.
    expect(JSON.stringify(delivery)).not.toContain('top-secret-1');
    expect(delivery.request?.headers).toContainEqual({ name: 'X-Webhook-Secret', value: '****et-1' });
    await waitFor(async () => (await harness.findHealth(webhook)).lastSuccessAt !== null);
  });

  it('goes only to webhooks that select it', async () => {
    const receiver = await receive();
    const userId = 501;
    const of = (path: string, more: object) => harness.createWebhook(receiver.url(path), { userId, ...more });
    await of('/all', {});
    await of('/type', { notificationTypes: ['geofence', 'sos'] });
    await of('/vehicle', { vehicleIds: [5] });
    await of('/other-type', { notificationTypes: ['geofence'] });
    await of('/other-vehicle', { vehicleIds: [6] });
    await harness.createWebhook(receiver.url('/other-user'));
    await harness.publishNotification(userId, { notification_type: 'idling' }, false);
    await harness.publishNotification(userId);
    await waitFor(() => receiver.received.length >= 3);
    expect(receiver.received.map(({ url }) => url).toSorted()).toEqual(['/all', '/type', '/vehicle']);
    expect(receiver.ids.size).toBe(3);
  });

  it('is the same for a repeated notification', async () => {
    const receiver = await receive();
    const webhook = await harness.createWebhook(receiver.url());
    const id = 7_000_001;
    for (let i = 0; i < 3; i += 1) await harness.publishNotification(webhook.userId, { id });
    const last = await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 2);
    await waitFor(() => receiver.received.length === 2);
    expect(new Set(receiver.received.map(({ notificationId }) => notificationId))).toEqual(new Set([last, id]));
  });

  it('carries signatures of both secrets during a rotation, and the old secret', async () => {
    const receiver = await receive();
    const webhook = await harness.createWebhook(receiver.url(), { secret: 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD' });
    const old = harness.seal('the-old-secret', webhook.userId);
    await harness.updateWebhook(webhook, { sealedOldSecret: old, graceUntil: new Date(Date.now() + 60_000) });
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1);
    await harness.updateWebhook(webhook, { graceUntil: new Date(Date.now() - 1) });
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 2);
    const [during, after] = receiver.received;
    const signature = (received: typeof during, secret: string) =>
      received && sign(secret, received.id, received.envelope, received.raw);
    const secret = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
    expect(during?.headers['x-webhook-secret']).toBe('the-old-secret');
    expect(during?.headers['webhook-signature']).toBe(
      `${signature(during, secret)} ${signature(during, 'the-old-secret')}`,
    );
    expect(after?.headers['x-webhook-secret']).toBe(secret);
    expect(after?.headers['webhook-signature']).toBe(signature(after, secret));
  });

  it('is stored as skipped while the webhook is disabled, and replayed', async () => {
    const receiver = await receive();
    const webhook = await harness.createWebhook(receiver.url(), { enabled: false });
    for (let i = 0; i < 12; i += 1) await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 12, ['skipped']);
    expect(receiver.received).toHaveLength(0);
    await harness.updateWebhook(webhook, { enabled: true });
    const replay = { webhookId: webhook._id, sinceMs: 0, untilMs: null, statuses: ['skipped' as const] };
    const requestedAtMs = Date.now();
    expect(await request(harness.bus, webhookRequests.replay, replay, { timeoutMs: 10_000 })).toEqual({ queued: 12 });
    await harness.waitForStatuses(webhook, 12);
    expect(receiver.ids.size).toBe(12);
    // Ten per second: the others follow a second later.
    const late = receiver.received.filter(({ atMs }) => atMs - requestedAtMs >= 1_000);
    expect(late.length).toBeGreaterThanOrEqual(2);
    expect((await harness.findDelivery(webhook)).attempts).toMatchObject([{ trigger: 'replay' }]);
  });

  it('is tested and retried manually', async () => {
    const receiver = await receive(respondWith(500, {}, 'no\0'));
    const webhook = await harness.createWebhook(receiver.url());
    const options = { timeoutMs: 10_000 };
    const test = { webhookId: webhook._id, notificationType: 'geofence' };
    receiver.respond = respondWith(418, {}, 'short');
    const { attempt } = await request(harness.bus, webhookRequests.test, test, options);
    expect(attempt).toMatchObject({ number: 1, trigger: 'test', statusCode: 418, responseBody: 'short' });
    const sent = JSON.parse(receiver.received[0]?.envelope.body ?? '') as { notification: object; user: number };
    expect(sent.notification).toMatchObject({ notification_type: 'geofence', attributes: { test: true } });
    expect(sent.user).toBe(webhook.userId);
    expect(await harness.findDeliveries(webhook)).toHaveLength(0);
    expect(await request(harness.bus, webhookRequests.test, { ...test, webhookId: 99_999 }, options)).toEqual({
      attempt: null,
    });

    receiver.respond = respondWith(500, {}, 'no\0');
    await harness.publishNotification(webhook.userId);
    await harness.waitForStatuses(webhook, 1, ['failed']);
    const failed = await harness.findDelivery(webhook);
    expect(failed).toMatchObject({ attemptCount: 9, nextAttemptAtMs: null });
    expect(failed.attempts[0]).toMatchObject({ statusCode: 500, errorCode: null, responseBody: 'no\uFFFD' });
    receiver.respond = respondWith(200);
    // The failure is recorded before its last attempt has completely ended.
    await waitFor(async () => (await harness.countClaims()) === 0);
    const retry = { webhookId: webhook._id, deliveryId: failed._id };
    expect(await request(harness.bus, webhookRequests.retry, retry, options)).toEqual({ result: 'queued' });
    await harness.waitForStatuses(webhook, 1);
    const { attempts } = await harness.findDelivery(webhook);
    expect(attempts.at(-1)).toMatchObject({ number: 10, trigger: 'retry', statusCode: 200 });
    const unknown = { ...retry, webhookId: webhook._id + 1 };
    expect(await request(harness.bus, webhookRequests.retry, unknown, options)).toEqual({ result: 'unknown' });
    // Every attempt had the same id and body, byte by byte.
    const own = receiver.received.filter(({ id }) => id === `msg_${failed._id}`);
    expect(new Set(own.map(({ envelope }) => envelope.body))).toEqual(new Set([failed.body]));
    // Its envelope contains the time of the attempt.
    const dates = own.map(({ envelope }) => envelope.date);
    expect(dates).toEqual(attempts.map(({ startedAtMs }) => startedAtMs));
    expect(new Set(dates).size).toBe(10);
    expect(own.map(({ headers }) => headers['webhook-attempt'])).toEqual(own.map((_each, at) => String(at + 1)));
  });

  it('is not retried during an attempt', async () => {
    const waiting: (() => void)[] = [];
    const receiver = await receive((response) => void waiting.push(() => response.end()));
    const webhook = await harness.createWebhook(receiver.url());
    await harness.publishNotification(webhook.userId);
    await waitFor(() => receiver.openRequests === 1);
    const retry = { webhookId: webhook._id, deliveryId: (await harness.findDelivery(webhook))._id };
    const respond = await request(harness.bus, webhookRequests.retry, retry, { timeoutMs: 10_000 });
    expect(respond).toEqual({ result: 'running' });
    for (const end of waiting) end();
    await harness.waitForStatuses(webhook, 1);
    expect(receiver.received).toHaveLength(1);
  });
});

function sign(secret: string, id: string, { date }: { date: number }, raw: string): string {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice(6), 'base64') : Buffer.from(secret);
  const text = `${id}.${Math.floor(date / 1_000)}.${raw}`;
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}
