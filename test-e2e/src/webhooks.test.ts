import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AlarmName, SimulatedTerminal } from '@fleet/terminal-simulator';
import { selfSigned, waitFor } from '@fleet/testing';
import type { WebhookEnvelope } from '@fleet/webhook-receiver';
import { createReceiver } from '@fleet/webhook-receiver/examples/express';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';

jest.setTimeout(180_000);

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** A received request, and what is done with it before the example processes it. */
interface ReceivedAttempt {
  readonly id: string;
  readonly attempt: number;
}

let harness: DedicatedHarness;
let client: PlatformClient;
let terminal: SimulatedTerminal;
let dir: string;
let server: Server;
let hook: PlatformRecord;
const taken: WebhookEnvelope[] = [];
const received: ReceivedAttempt[] = [];
/** Response instead of the example's; `hold`: none. */
let instead: number | 'hold' | undefined;

beforeAll(async () => {
  const { cert, key } = selfSigned();
  dir = mkdtempSync(join(tmpdir(), 'fleet-webhooks-'));
  writeFileSync(join(dir, 'ca.pem'), cert);
  const onNotification = (envelope: WebhookEnvelope): void => void taken.push(envelope);
  const example = createReceiver({ secrets: [secret], onNotification, onError: () => undefined });
  server = createServer({ cert, key }, (request, response) => {
    received.push({ id: String(request.headers['webhook-id']), attempt: Number(request.headers['webhook-attempt']) });
    if (instead === undefined) example(request, response);
    else if (instead !== 'hold') response.writeHead(instead).end('not now');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  harness = await startHarness({
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_CA_FILE: join(dir, 'ca.pem'),
    WEBHOOK_RETRY_WAITS_MS: '200,300',
    WEBHOOK_SWEEP_MS: '200',
    WEBHOOK_ATTEMPT_TIMEOUT_MS: '5000',
    WEBHOOK_ACK_WAIT_MS: '2000',
    RATE_LIMIT_WEBHOOK_TEST_PER_MINUTE: '1000',
    RATE_LIMIT_PLATFORM_PER_MINUTE: '100000',
    RATE_LIMIT_PLATFORM_BURST: '100000',
  });
  client = await PlatformClient.logIn(harness);
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/fleet/hook?key=1`;
  const types = ['sos', 'collision', 'rollover', 'vehicle_theft'];
  hook = await client.requestData('/user-webhooks', { url, secret, notification_types: types });
  const imei = uniquePhone();
  await client.requestData('/vehicles', { vehicle_no: 'HOOK 1', imei });
  terminal = await harness.startTerminal({ phone: imei });
}, 180_000);
afterAll(async () => {
  await harness?.stop();
  server?.closeAllConnections();
  server?.close();
  rmSync(dir, { recursive: true, force: true });
}, 90_000);
beforeEach(() => {
  instead = undefined;
  taken.length = 0;
  received.length = 0;
});

const at = (path = ''): string => `/user-webhooks/${String(hook['id'])}${path}`;
const deliveries = (query = ''): Promise<PlatformRecord[]> => client.listAll(at(`/deliveries${query}`));

/** Raises an alarm of a type that was not raised before: two of a type in quick succession are folded into one. */
async function raise(alarm: AlarmName): Promise<void> {
  const deliveriesBefore = (await deliveries()).length;
  terminal.raiseAlarm(alarm);
  await waitFor(async () => (await deliveries()).length > deliveriesBefore, 'its delivery', 60_000);
}

const newest = async (): Promise<PlatformRecord> => (await deliveries())[0] ?? {};
const waitForDelivery = (status: string): Promise<PlatformRecord> =>
  waitFor(
    async () => {
      const delivery = await newest();
      return delivery['status'] === status ? delivery : undefined;
    },
    `the newest delivery to be ${status}`,
    60_000,
  );

describe('a webhook over HTTPS', () => {
  it('can be tested', async () => {
    const attempt = await client.requestData(at('/test'), { notification_type: 'geofence' });
    expect(attempt).toMatchObject({ number: 1, trigger: 'test', status_code: 200, error_code: null });
    await waitFor(() => taken.length > 0, 'the test');
    expect(taken[0]?.payload.notification).toMatchObject({ notification_type: 'geofence', attributes: { test: true } });
    instead = 503;
    expect(await client.requestData(at('/test'), {})).toMatchObject({ status_code: 503, response_body: 'not now' });
    expect(await deliveries()).toEqual([]);
  });

  it('delivers an SOS of a terminal with everything that the example checks', async () => {
    await raise('emergency');
    const envelope = await waitFor(() => taken[0], 'the SOS', 60_000);
    const { notification, user } = envelope.payload;
    expect(notification).toMatchObject({ title: 'SOS', notification_type: 'sos', imei: terminal.phone });
    expect(notification).toMatchObject({
      description: expect.any(String),
      timestamp: expect.any(Number),
      server_timestamp: expect.any(Number),
      location: { latitude: expect.any(Number), longitude: expect.any(Number) },
    });
    expect(user).toBe((await client.requestData('/auth/me'))['id']);
    expect(Object.keys(envelope.headers).toSorted()).toEqual([
      'Content-Length',
      'Content-Type',
      'User-Agent',
      'Webhook-Id',
      'Webhook-Timestamp',
      'X-Webhook-Secret',
    ]);
    expect(envelope).toMatchObject({ method: 'POST', path: '/fleet/hook', query: 'key=1' });
    const delivery = await waitForDelivery('succeeded');
    expect(received).toEqual([{ id: `msg_${String(delivery['delivery_id'])}`, attempt: 1 }]);
    const details = await client.requestData(at(`/deliveries/${String(delivery['delivery_id'])}`));
    expect(details).toMatchObject({
      notification_type: 'sos',
      imei: terminal.phone,
      request: { headers: { 'X-Webhook-Secret': '****LaSw' }, body: expect.stringContaining('"method":"POST"') },
      attempts: [{ number: 1, trigger: 'schedule', status_code: 200 }],
    });
    expect(JSON.stringify(details)).not.toContain(secret);
    await waitFor(async () => (await client.requestData(at()))['last_success_at'] !== null, 'its health');
    expect(await client.requestData(at())).toMatchObject({ status: 'active', consecutive_failures: 0 });
  });

  it('is retried after a failure: automatically, manually, and by a replay', async () => {
    instead = 500;
    const since = String(Date.now());
    await raise('collision');
    const failed = await waitForDelivery('failed');
    expect(failed).toMatchObject({ attempt_count: 3, next_attempt_at: null });
    expect(new Set(received.map(({ id }) => id)).size).toBe(1);
    expect(received.map(({ attempt }) => attempt)).toEqual([1, 2, 3]);
    await waitFor(async () => (await client.requestData(at()))['consecutive_failures'] === 3, 'its failures');
    expect(await client.requestData(at())).toMatchObject({ status: 'failing', failing_since: expect.any(String) });
    instead = undefined;
    await client.requestData(at(`/deliveries/${String(failed['delivery_id'])}/retry`), {});
    expect(await waitForDelivery('succeeded')).toMatchObject({ delivery_id: failed['delivery_id'], attempt_count: 4 });

    instead = 500;
    await raise('rollover');
    await waitForDelivery('failed');
    instead = undefined;
    expect(await client.requestData(at('/replay'), { since })).toEqual({ queued: 1 });
    const replayed = await waitForDelivery('succeeded');
    const { attempts } = await client.requestData(at(`/deliveries/${String(replayed['delivery_id'])}`));
    expect((attempts as PlatformRecord[]).map(({ trigger }) => trigger)).toEqual([
      'schedule',
      'schedule',
      'schedule',
      'replay',
    ]);
    const stats = await client.requestData(at('/stats'));
    expect(stats).toMatchObject({ failed: 0, pending: 0, success_rate: 1, p50_ms: expect.any(Number) });
    expect(stats['succeeded']).toBe(stats['total']);
  });
});

describe('a killed dispatcher', () => {
  it('repeats an interrupted attempt with the same id', async () => {
    instead = 'hold';
    await raise('stolen');
    await waitFor(() => received.length > 0, 'the attempt', 60_000);
    const former = killProcess(harness, 'webhook-dispatcher');
    instead = undefined;
    await waitForRestart(harness, 'webhook-dispatcher', former);
    const delivery = await waitForDelivery('succeeded');
    expect(received.length).toBeGreaterThan(1);
    expect(new Set(received.map(({ id }) => id))).toEqual(new Set([`msg_${String(delivery['delivery_id'])}`]));
    // The interrupted attempt is not recorded as a finished one.
    expect(delivery).toMatchObject({ attempt_count: 1 });
    expect(taken).toHaveLength(1);
  });
});
