import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { callUseCase, deviceApi, type Outcome } from '@fleet/bus';
import { claimDevice, heartbeatGateway } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

interface Sms {
  readonly headers: IncomingMessage['headers'];
  readonly body: { to: string; text: string };
}

let harness: DeviceApiHarness;
let provider: Server;
let url: string;
/** Messages that the provider received. */
let sent: Sms[];
let respond: (response: ServerResponse, sms: Sms) => void;
const accept = (response: ServerResponse): void => void response.writeHead(202).end('{"id":"1"}');
const rejectWith =
  (status: number) =>
  (response: ServerResponse): void =>
    void response.writeHead(status).end();

beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  provider = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.once('end', () => {
      const sms = { headers: request.headers, body: JSON.parse(Buffer.concat(chunks).toString()) as Sms['body'] };
      sent.push(sms);
      respond(response, sms);
    });
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(provider.address() as AddressInfo).port}/sms?key=k`;
});
beforeEach(() => {
  sent = [];
  respond = accept;
});
afterEach(() => provider.closeAllConnections());
afterAll(async () => {
  await harness.close();
  await new Promise((resolve) => provider.close(resolve));
});

const withProvider = (env: Record<string, string> = {}) => harness.startService({ WAKE_SMS_URL: url, ...env });
const never = (): Promise<Outcome> => new Promise(() => undefined);
const awake = { status: 200, body: { result: 'success' } };
const notConnected = { status: 404, body: { status: 404, error: 'The device is not connected.' } };

describe('a device that is not connected', () => {
  it('receives one SMS, and the request succeeds once it has connected', async () => {
    const api = await withProvider({
      WAKE_SMS_TOKEN: 'secret-token',
      WAKE_SMS_TEXT: '<WAKE>',
      WAKE_SMS_NUMBER_PREFIX: '+86',
    });
    const imei = randomImei();
    const request = api.get(`/wakeup?imei=00000000${imei}`, { headers: { 'x-request-id': 'caller-1' } });
    await waitFor(() => sent.length === 1);
    expect(sent[0]?.body).toEqual({ to: `+86${imei}`, text: '<WAKE>' });
    expect(sent[0]?.headers).toMatchObject({
      authorization: 'Bearer secret-token',
      'content-type': 'application/json',
      'x-request-id': 'caller-1',
    });
    await harness.connectDevice(() => createOutcome(0x8204), imei);
    expect(await request).toMatchObject(awake);
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual([{ kind: 'wakeUp' }]);
    expect(sent).toHaveLength(1);
  });

  it('receives one SMS for concurrent requests on all replicas and APIs', async () => {
    const replicas = [await withProvider(), await withProvider()];
    const imei = randomImei();
    // The SMS is pending until all requests have arrived.
    let go: (() => void) | undefined;
    respond = (response) => {
      go = () => accept(response);
    };
    const requests = Array.from({ length: 20 }, (_unused, at) => replicas[at % 2]?.get(`/wakeup?imei=${imei}`));
    requests.push(replicas[1]?.video.get(`/${imei.padStart(12, '0')}/wakeup`));
    await waitFor(() => go !== undefined);
    go?.();
    await harness.connectDevice(() => createOutcome(0x8204), imei);
    for (const reply of await Promise.all(requests)) expect(reply).toMatchObject(awake);
    expect((await replicas[0]?.get(`/wakeup?imei=${imei}`))?.status).toBe(200);
    expect(sent).toHaveLength(1);
  });

  it('is 504 if it does not connect', async () => {
    const api = await withProvider({ DEVICE_REPLY_TIMEOUT_MS: '1500' });
    expect(await api.get(`/wakeup?imei=${randomImei()}`)).toMatchObject({ status: 504, body: { status: 504 } });
    expect(sent).toHaveLength(1);
  });

  it('is 404 immediately without a provider, and for every other command', async () => {
    const without = await harness.startService();
    expect(await without.get(`/wakeup?imei=${randomImei()}`)).toMatchObject(notConnected);
    const api = await withProvider();
    expect(await api.get(`/realtime/start-stream?imei=${randomImei()}&channel=1`)).toMatchObject(notConnected);
    expect(sent).toEqual([]);
  });

  it('is 503 if the service stops', async () => {
    const api = await withProvider({ STOP_GRACE_MS: '200' });
    const request = api.get(`/wakeup?imei=${randomImei()}`);
    await waitFor(() => sent.length === 1);
    await api.stop();
    expect(await request).toMatchObject({ status: 503, body: { status: 503 } });
  });
});

describe('a connected device', () => {
  it('receives no SMS if it responds soon', async () => {
    const api = await withProvider();
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    expect(await api.get(`/wakeup?imei=${imei}`)).toMatchObject(awake);
    expect(sent).toEqual([]);
  });

  it('receives an SMS if it stays silent, and its response to the first query counts', async () => {
    const api = await withProvider({ WAKE_SMS_AFTER_MS: '100' });
    let wake: ((outcome: Outcome) => void) | undefined;
    const imei = await harness.connectDevice(
      () =>
        new Promise<Outcome>((resolve) => {
          wake = resolve;
        }),
    );
    const request = api.get(`/wakeup?imei=${imei}`);
    await waitFor(() => sent.length === 1);
    wake?.(createOutcome(0x8204));
    expect(await request).toMatchObject(awake);
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it('is waited for although the SMS could not be sent', async () => {
    const api = await withProvider({ WAKE_SMS_AFTER_MS: '100', DEVICE_REPLY_TIMEOUT_MS: '2500' });
    respond = rejectWith(500);
    const imei = await harness.connectDevice(never);
    expect(await api.get(`/wakeup?imei=${imei}`)).toMatchObject({ status: 504 });
    expect(sent).toHaveLength(1);
  });

  it('receives a query on another gateway to which it reconnects', async () => {
    const api = await harness.startService();
    let queryCount = 0;
    const imei = await harness.connectDevice(() => {
      queryCount += 1;
      return queryCount === 1 ? never() : createOutcome(0x8201);
    });
    const request = api.get(`/wakeup?imei=${imei}`);
    await waitFor(() => queryCount === 1);
    // It is polled every second: the second gateway must differ from that of the first poll.
    let pods = 0;
    const moves = setInterval(() => {
      pods += 1;
      void moveTo(imei, `gateway-${pods}`);
    }, 300);
    expect(await request).toMatchObject(awake);
    clearInterval(moves);
    expect(new Set(harness.findCommands(imei).map(({ commandId }) => commandId)).size).toBeGreaterThan(1);
  });

  const moveTo = async (imei: string, podId: string): Promise<void> => {
    await heartbeatGateway(harness.redis, podId);
    await claimDevice(harness.redis, imei, {
      sessionId: `${imei}-${podId}`,
      podId,
      phone: imei,
      edition: '2019',
      onlineSinceMs: Date.now(),
      lastSeenMs: Date.now(),
      remoteAddress: '127.0.0.1',
    });
  };
});

describe('a provider that rejects the message', () => {
  it.each<[string, (response: ServerResponse) => void]>([
    ['fails', rejectWith(500)],
    ['refuses the number', rejectWith(422)],
    ['breaks off', (response) => void response.destroy()],
    ['says nothing', () => undefined],
    ['sends elsewhere', (response) => void response.writeHead(307, { location: url }).end()],
  ])('and %s leaves the device disconnected, and the next request retries', async (_what, how) => {
    const api = await withProvider({ WAKE_SMS_TIMEOUT_MS: '2000' });
    respond = how;
    const imei = randomImei();
    expect(await api.get(`/wakeup?imei=${imei}`)).toMatchObject(notConnected);
    expect(sent).toHaveLength(1);
    respond = accept;
    const request = api.get(`/wakeup?imei=${imei}`);
    await waitFor(() => sent.length === 2);
    await harness.connectDevice(() => createOutcome(0x8204), imei);
    expect(await request).toMatchObject(awake);
  });

  it('is paused after failures, but not after rejected numbers', async () => {
    const api = await withProvider();
    const wakeRandom = () => api.get(`/wakeup?imei=${randomImei()}`);
    respond = rejectWith(422);
    for (let no = 1; no <= 6; no += 1) {
      expect(await wakeRandom()).toMatchObject(notConnected);
      expect(sent).toHaveLength(no);
    }
    const failing = await withProvider();
    sent.length = 0;
    respond = rejectWith(503);
    for (let no = 1; no <= 6; no += 1)
      expect(await failing.get(`/wakeup?imei=${randomImei()}`)).toMatchObject(notConnected);
    expect(sent).toHaveLength(3);
  });

  it('frees the claim for a waiting request', async () => {
    const api = await withProvider();
    const imei = randomImei();
    let first: ServerResponse | undefined;
    respond = (response) => {
      first = response;
    };
    const requests = [api.get(`/wakeup?imei=${imei}`), api.get(`/wakeup?imei=${imei}`)];
    await waitFor(() => first !== undefined);
    respond = accept;
    first?.writeHead(500).end();
    await waitFor(() => sent.length === 2);
    await harness.connectDevice(() => createOutcome(0x8204), imei);
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([200, 404]);
  });
});

describe('with required keys', () => {
  it('only recorded devices receive an SMS', async () => {
    const other = await DeviceApiHarness.open({ platform: true });
    try {
      await other.startService({ WAKE_SMS_URL: url, DEVICE_API_AUTH: 'key' });
      const recorded = randomImei();
      other.utcOffsets.set(recorded, '+08:00');
      const wake = (imei: string) => callUseCase(other.bus, deviceApi.wakeUp, { imei }, { timeoutMs: 20_000 });
      await waitFor(
        async () => (await wake(randomImei()).catch((error: { code?: string }) => error.code)) !== undefined,
      );
      await expect(wake(randomImei())).rejects.toMatchObject({ code: 'device_not_connected' });
      expect(sent).toEqual([]);
      const request = wake(recorded);
      await waitFor(() => sent.length === 1);
      await other.connectDevice(() => createOutcome(0x8204), recorded);
      expect(await request).toEqual({ result: 'success' });
      expect(sent[0]?.body.to).toBe(recorded);
    } finally {
      await other.close();
    }
  });
});
