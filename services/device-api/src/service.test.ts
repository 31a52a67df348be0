import { get, type IncomingMessage } from 'node:http';
import type { Outcome } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { respondWithStream, startFakeMediaPod } from './testing/fake-media-pod.ts';
import { createOutcome, DeviceApiHarness, randomImei } from './testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
});
afterAll(() => harness.close());

const refusesConnections = async (base: string): Promise<boolean> =>
  fetch(`${base}/livez`).then(
    () => false,
    () => true,
  );

describe('a stop', () => {
  it('is not ready any more, accepts no requests, and finishes pending ones', async () => {
    const service = await harness.startService();
    let finish: ((outcome: Outcome) => void) | undefined;
    const imei = await harness.connectDevice(
      () =>
        new Promise<Outcome>((resolve) => {
          finish = resolve;
        }),
    );
    expect((await fetch(`${service.adminBase}/readyz`)).status).toBe(200);
    const request = service.get(`/realtime/start-stream?imei=${imei}&channel=1`);
    await waitFor(() => finish !== undefined);
    const stopping = service.stop();
    await waitFor(() => refusesConnections(service.base));
    finish?.(createOutcome(0x9101));
    expect(await request).toMatchObject({ status: 200, body: { result: 'success' } });
    await stopping;
  });

  it('is noticed by load balancers before requests are rejected', async () => {
    const service = await harness.startService({ DRAIN_DELAY_MS: '3000' });
    const imei = await harness.connectDevice(() => createOutcome(0x8204));
    const stopping = service.stop();
    expect((await fetch(`${service.adminBase}/readyz`)).status).toBe(503);
    expect((await service.get(`/wakeup?imei=${imei}`)).status).toBe(200);
    await stopping;
  });

  it('ends streams immediately on both sides', async () => {
    const service = await harness.startService();
    const pod = await startFakeMediaPod(respondWithStream());
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const path = `/api/v1/realtime/stream.flv?imei=${imei}&channel=1`;
      get(service.base + path, { agent: false }, resolve).once('error', reject);
    });
    response.resume();
    const ended = new Promise<void>((resolve) => {
      response.once('error', () => undefined).once('close', resolve);
    });
    await service.stop();
    await ended;
    expect(response.destroyed).toBe(true);
    await waitFor(() => pod.openResponses.size === 0);
    await pod.close();
  });

  it('returns 503 to pending requests after the shutdown time-out', async () => {
    const service = await harness.startService({ STOP_GRACE_MS: '200' });
    const imei = await harness.connectDevice(() => new Promise(() => undefined));
    const request = service.get(`/wakeup?imei=${imei}`);
    await waitFor(() => harness.findCommands(imei).length === 1);
    await service.stop();
    expect(await request).toMatchObject({
      status: 503,
      body: { status: 503, error: expect.stringContaining('stopping') },
    });
  });
});

describe('a start', () => {
  it('fails completely if its port is in use, and leaves nothing open', async () => {
    const first = await harness.startService();
    await expect(harness.startService({ HTTP_PORT: String(first.port) })).rejects.toThrow(/EADDRINUSE/);
  });
});
