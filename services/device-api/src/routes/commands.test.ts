import type { Outcome } from '@fleet/bus';
import { releaseDevice } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
});
afterAll(() => harness.close());

const never = (): Promise<Outcome> => new Promise(() => undefined);
const paths: [string, number][] = [
  ['/wakeup?', 0x8204],
  ['/realtime/start-stream?channel=1&', 0x9101],
  ['/realtime/control-stream?channel=1&ctrl_instruction=1&', 0x9102],
];

describe.each(paths)('GET %s', (path, messageId) => {
  it.each<[string, Outcome, number, RegExp]>([
    ['not connected', { kind: 'notConnected' }, 404, /not connected/],
    ['timed out', { kind: 'timedOut' }, 504, /did not reply/],
    ['unreadable', { kind: 'unreadable', detail: 'body cut' }, 502, /could not be read: body cut\./],
    ['refused', { kind: 'refused', detail: 'the channel does not fit' }, 400, /the channel does not fit\./],
    [
      'refused because of an internal fault',
      { kind: 'refused', detail: 'secret text', isOurFault: true },
      500,
      /^An unexpected error/,
    ],
    ['busy', { kind: 'busy', detail: '16 commands are in flight' }, 429, /busy: 16 commands/],
  ])('maps an outcome "%s" to an ApiError', async (_kind, outcome, status, sentence) => {
    const imei = await harness.connectDevice(() => outcome);
    const response = await api.get(`${path}imei=${imei}`);
    expect(response.status).toBe(status);
    expect(response.body).toEqual({ status, error: expect.stringMatching(sentence) });
    expect(response.headers.get('retry-after')).toBe(status === 429 ? '1' : null);
  });

  it('returns 404 immediately for a device without a gateway', async () => {
    const tookMs: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const startedAt = performance.now();
      const { status, body } = await api.get(`${path}imei=${randomImei()}`);
      expect({ status, body }).toEqual({ status: 404, body: { status: 404, error: 'The device is not connected.' } });
      tookMs.push(performance.now() - startedAt);
    }
    // A device that a gateway claims is retried for five seconds; the best of three, as a busy machine may pause any
    // one of them.
    expect(Math.min(...tookMs)).toBeLessThan(4_000);
  });

  it('returns 504 if the device does not respond in time', async () => {
    const quick = await harness.startService({ DEVICE_REPLY_TIMEOUT_MS: '1000' });
    const imei = await harness.connectDevice(never);
    const { status, body } = await quick.get(`${path}imei=${imei}`);
    expect({ status, body }).toEqual({ status: 504, body: { status: 504, error: expect.any(String) } });
    expect(harness.findCommands(imei)[0]?.timeoutMs).toBeLessThanOrEqual(1_000);
    expect(harness.findCommands(imei)[0]?.timeoutMs).toBeGreaterThan(100);
  });

  it('returns 503 if the request exceeds its time-out', async () => {
    const quick = await harness.startService({ REQUEST_TIMEOUT_MS: '300' });
    const imei = await harness.connectDevice(never);
    const { status, body } = await quick.get(`${path}imei=${imei}`);
    expect(status).toBe(503);
    expect(body).toEqual({ status: 503, error: "The request ran past the server's limit of 0.3 seconds." });
  });

  it('sends the remaining part of the 90 seconds to the gateway', async () => {
    const imei = await harness.connectDevice(() => createOutcome(messageId));
    await api.get(`${path}imei=${imei}`);
    const [command] = harness.findCommands(imei);
    expect(command?.timeoutMs).toBeLessThanOrEqual(90_000);
    expect(command?.timeoutMs).toBeGreaterThan(85_000);
    expect(command?.isRetry).toBe(false);
  });
});

describe.each(paths.slice(1))('the response of GET %s', (path, messageId) => {
  it.each([
    [0, 'success'],
    [1, 'failure'],
    [2, 'incorrectInfo'],
    [3, 'unsupported'],
  ])('names result %i %s', async (code, result) => {
    const imei = await harness.connectDevice(() => createOutcome(messageId, code));
    const response = await api.get(`${path}imei=${imei}`);
    expect(response.status).toBe(200);
    expect(response.body).toEqual({ response_id: `0x${messageId.toString(16)}`, result });
  });

  it.each([4, 255, null])('is 502 for result %p, which the standard does not define for a command', async (code) => {
    const imei = await harness.connectDevice(() => createOutcome(messageId, code));
    const { status, body } = await api.get(`${path}imei=${imei}`);
    expect({ status, body }).toEqual({ status: 502, body: { status: 502, error: expect.any(String) } });
  });
});

describe('GET /wakeup', () => {
  it.each([0, 1, 3, 255, null])('is success for any result of the device: %p', async (code) => {
    const imei = await harness.connectDevice(() => createOutcome(0x8204, code));
    const { status, body } = await api.get(`/wakeup?imei=${imei}`);
    expect({ status, body }).toEqual({ status: 200, body: { result: 'success' } });
    expect(harness.findCommands(imei)[0]?.command).toEqual({ kind: 'wakeUp' });
  });
});

describe('many concurrent commands', () => {
  it('return to each of 200 requests to 20 devices its own reply', async () => {
    const imeis = await Promise.all(
      Array.from({ length: 20 }, (_unused, index) => harness.connectDevice(() => createOutcome(0x9102, index % 4))),
    );
    const results = ['success', 'failure', 'incorrectInfo', 'unsupported'];
    const responses = await Promise.all(
      Array.from({ length: 200 }, (_unused, index) =>
        api.get(`/realtime/control-stream?imei=${imeis[index % 20]}&channel=${index % 8}&ctrl_instruction=1`),
      ),
    );
    expect(responses.map(({ body }) => (body as { result: string }).result)).toEqual(
      responses.map((_response, index) => results[(index % 20) % 4]),
    );
  });
});

describe('GET /health/device', () => {
  it('is 200 while the device has a session, and 503 before and after', async () => {
    expect(await api.get(`/health/device?imei=${randomImei()}`)).toMatchObject({
      status: 503,
      body: { healthy: false },
    });
    const imei = await harness.connectDevice(never);
    expect(await api.get(`/health/device?imei=${imei}`)).toMatchObject({ status: 200, body: { healthy: true } });
    await releaseDevice(harness.redis, imei, imei);
    expect(await api.get(`/health/device?imei=${imei}`)).toMatchObject({ status: 503, body: { healthy: false } });
  });
});

describe('GET /health/camera', () => {
  it('is 200 only while packets of that channel arrive', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const health = () => api.get(`/health/camera?imei=${imei}&channel=2`);
    expect(await health()).toMatchObject({ status: 503, body: { healthy: false } });
    await api.get(`/realtime/start-stream?imei=${imei}&channel=2`);
    expect(await health()).toMatchObject({ status: 503, body: { healthy: false } });
    const camera = await harness.connectStream(imei, 2, 'http://127.0.0.1:1');
    expect(await health()).toMatchObject({ status: 200, body: { healthy: true } });
    expect((await api.get(`/health/camera?imei=${imei}&channel=1`)).status).toBe(503);
    await camera.leave();
    expect(await health()).toMatchObject({ status: 503, body: { healthy: false } });
  });
});

describe('a caller that disconnects', () => {
  it('does not cancel the command', async () => {
    let finish: ((outcome: Outcome) => void) | undefined;
    const imei = await harness.connectDevice(
      () =>
        new Promise<Outcome>((resolve) => {
          finish = resolve;
        }),
    );
    const abortController = new AbortController();
    const request = api.get(`/realtime/start-stream?imei=${imei}&channel=1`, { signal: abortController.signal });
    await waitFor(() => finish !== undefined);
    abortController.abort();
    await expect(request).rejects.toThrow(/aborted/);
    finish?.(createOutcome(0x9101));
    await waitFor(async () => {
      const { body } = await api.get(`/realtime/start-stream?imei=${imei}&channel=1`);
      return (body as { result?: string }).result === 'success';
    });
    expect(harness.findCommands(imei)).toHaveLength(1);
  });
});
