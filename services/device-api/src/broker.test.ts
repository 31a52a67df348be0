import { isDeepStrictEqual } from 'node:util';
import { type Outcome, servePing } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei } from './testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
const broken = new Set<string>();
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ media: false });
  api = await harness.startService();
  for (const service of ['upload-ftp', 'jt808-gateway', 'jt1078-media'])
    servePing(harness.bus, service, { onError: () => undefined, isWorking: () => !broken.has(service) });
  await harness.bus.nc.flush();
});
afterAll(() => harness.close());

const components = {
  state_store: true,
  message_broker: true,
  database: true,
  upload_server: true,
  jt808_server: true,
  jt1078_server: true,
};

/** Returns the health; a component that a busy machine delays beyond its 1.5 s is checked again. */
async function fetchHealth(client: typeof api, expected: Readonly<Record<string, boolean>>) {
  let response = await client.get('/health');
  for (let attempts = 0; attempts < 5 && !isDeepStrictEqual(getComponents(response), expected); attempts += 1)
    response = await client.get('/health');
  return { status: response.status, body: response.body };
}
const getComponents = ({ body }: { readonly body: unknown }): unknown => (body as { components?: unknown }).components;

describe('GET /health', () => {
  it('is 200 when every component works', async () => {
    expect(await fetchHealth(api, components)).toEqual({ status: 200, body: { healthy: true, components } });
  });

  it.each([
    ['upload-ftp', 'upload_server'],
    ['jt808-gateway', 'jt808_server'],
    ['jt1078-media', 'jt1078_server'],
  ])('is 503 and names %s when it does not work', async (service, component) => {
    broken.add(service);
    const expected = { ...components, [component]: false };
    const response = await fetchHealth(api, expected);
    broken.delete(service);
    expect(response).toEqual({ status: 503, body: { healthy: false, components: expected } });
  });

  it('is 503 when the database is unavailable', async () => {
    const blind = await harness.startService({ MONGODB_URL: 'mongodb://127.0.0.1:1/none' });
    const expected = { ...components, database: false };
    expect(await fetchHealth(blind, expected)).toEqual({ status: 503, body: { healthy: false, components: expected } });
  });
});

describe('media servers that are all unavailable', () => {
  it('block a camera from streaming, except to an external server', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    broken.add('jt1078-media');
    const start = (channel: number, more = '') =>
      api.get(`/realtime/start-stream?imei=${imei}&channel=${channel}${more}`);
    const [ours, theirs] = await Promise.all([start(1), start(2, '&host=media.partner.example')]);
    broken.delete('jt1078-media');
    expect(ours).toMatchObject({ status: 503, body: { error: expect.stringContaining('media server') } });
    expect(theirs.status).toBe(200);
    expect(harness.findCommands(imei)).toMatchObject([{ command: { channel: 2 } }]);
    expect(await start(1)).toMatchObject({ status: 200 });
  });
});

describe('a broker that crashes', () => {
  it('loses no pending command, causes immediate 503 for new ones, and no false 404 after its return', async () => {
    let finish: ((outcome: Outcome) => void) | undefined;
    const slow = await harness.connectDevice(
      () =>
        new Promise<Outcome>((resolve) => {
          finish = resolve;
        }),
    );
    const quick = await harness.connectDevice(() => createOutcome(0x8204));
    const carried = api.get(`/wakeup?imei=${slow}`);
    await waitFor(() => finish !== undefined);
    await harness.nats.kill();

    // Sent in the first moments of the outage: it can still get a reply, or become 503, within the two seconds of
    // waiting.
    const startedAt = performance.now();
    const early = await api.get(`/wakeup?imei=${quick}`);
    expect(early).toMatchObject({ status: 503, body: { status: 503, error: expect.stringContaining('broker') } });
    expect(performance.now() - startedAt).toBeLessThan(6_000);

    const tookMs: number[] = [];
    for (const path of [
      `/wakeup?imei=${quick}`,
      `/realtime/start-stream?imei=${quick}&channel=1`,
      `/wakeup?imei=${randomImei()}`,
    ]) {
      const later = performance.now();
      expect((await api.get(path)).status).toBe(503);
      tookMs.push(performance.now() - later);
    }
    // Each would take two seconds if it waited again; a busy machine may pause any one of them.
    expect(tookMs.toSorted((a, b) => a - b)[1]).toBeLessThan(1_900);
    expect(await api.get('/health')).toMatchObject({ status: 503, body: { components: { message_broker: false } } });
    expect((await fetch(`${api.adminBase}/readyz`)).status).toBe(503);
    expect((await fetch(`${api.adminBase}/livez`)).status).toBe(200);
    expect((await api.get(`/health/device?imei=${quick}`)).status).toBe(200);

    await harness.nats.start();
    const statuses = new Set<number>();
    await waitFor(async () => {
      const { status } = await api.get(`/wakeup?imei=${quick}`);
      statuses.add(status);
      return status === 200;
    });
    expect([...statuses].filter((status) => status !== 503)).toEqual([200]);
    finish?.(createOutcome(0x8204));
    expect(await carried).toMatchObject({ status: 200, body: { result: 'success' } });
    expect(harness.findCommands(slow)).toHaveLength(1);
    await waitFor(async () => (await api.get('/health')).status === 200);
  });
});

describe('a state store that crashes', () => {
  it('affects starts and streams, not wake-ups, and recovers by itself', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await harness.redisServer.kill();
    await waitFor(async () => (await api.get('/health')).status === 503);
    expect(await api.get('/health')).toMatchObject({ body: { components: { ...components, state_store: false } } });
    expect(await api.get(`/realtime/start-stream?imei=${imei}&channel=1`)).toMatchObject({
      status: 503,
      body: { status: 503 },
    });
    expect(harness.findCommands(imei)).toEqual([]);
    expect(await api.get(`/realtime/stream.flv?imei=${imei}&channel=1`)).toMatchObject({
      status: 500,
      body: { status: 500 },
    });
    expect(await api.get(`/health/device?imei=${imei}`)).toMatchObject({ status: 503, body: { healthy: false } });
    expect(await api.get(`/health/camera?imei=${imei}&channel=1`)).toMatchObject({
      status: 503,
      body: { healthy: false },
    });
    expect((await api.get(`/wakeup?imei=${imei}`)).status).toBe(200);
    await harness.redisServer.start();
    await waitFor(async () => (await api.get(`/realtime/start-stream?imei=${imei}&channel=1`)).status === 200);
  });
});
