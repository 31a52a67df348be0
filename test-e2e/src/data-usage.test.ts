import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { Person } from './testing/person.ts';
import { ServiceReplica } from './testing/service-replica.ts';

// Services are killed and restarted, and video is counted in real time.
jest.setTimeout(240_000);

const usageTimeoutMs = 90_000;

let harness: DedicatedHarness;
let dashcams: Dashcams;
let owner: Person;
beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  owner = await Person.logInOwner(harness);
}, 240_000);
afterAll(() => harness?.stop(), 90_000);

async function countBytes({ vehicleId }: Dashcam): Promise<number> {
  try {
    return Number((await owner.request('GET', `/vehicles/${vehicleId}/data-usage`))['bytes']);
  } catch {
    // The service restarts.
    return 0;
  }
}

const start = ({ vehicleId }: Dashcam, body: object = {}) =>
  owner.send('POST', `/vehicles/start-dashcam-stream/${vehicleId}`, body);
const stop = ({ vehicleId }: Dashcam) =>
  owner.send('POST', `/vehicles/stop-dashcam-stream/${vehicleId}`, { channel_id: 1, force: true });
const countSentBytes = ({ terminal }: Dashcam): number =>
  terminal.cameras.records.reduce((sum, { bytesSent }) => sum + bytesSent, 0);

/** Waits until the count no longer changes. */
async function waitForFinalBytes(dashcam: Dashcam): Promise<number> {
  let last = -1;
  let sinceMs = performance.now();
  return waitFor(
    async () => {
      const bytes = await countBytes(dashcam);
      if (bytes !== last) sinceMs = performance.now();
      last = bytes;
      return performance.now() - sinceMs > 12_000 && bytes;
    },
    'the last report',
    usageTimeoutMs,
  );
}

describe('the data volume of a vehicle', () => {
  it('is what its camera sent', async () => {
    const dashcam = await dashcams.create();
    expect((await start(dashcam)).status).toBe(200);
    await waitFor(async () => (await countBytes(dashcam)) > 50_000, 'the first reports', usageTimeoutMs);
    expect((await stop(dashcam)).status).toBe(200);
    const counted = await waitForFinalBytes(dashcam);
    // The last packets may arrive after the end of the stream.
    const sentBytes = countSentBytes(dashcam);
    expect(counted).toBeLessThanOrEqual(sentBytes);
    expect(counted).toBeGreaterThan(sentBytes * 0.9);
  });

  it.each(['jt1078-media', 'platform-telemetry'])('counts nothing twice although %s is killed', async (name) => {
    const dashcam = await dashcams.create();
    expect((await start(dashcam)).status).toBe(200);
    await waitFor(async () => (await countBytes(dashcam)) > 50_000, 'the first reports', usageTimeoutMs);
    const pid = killProcess(harness, name);
    await waitForRestart(harness, name, pid);
    await waitUntilHealthy(harness);
    const before = await waitFor(() => countBytes(dashcam), 'the count', usageTimeoutMs);
    await waitFor(async () => (await start(dashcam)).status === 200, 'the stream', usageTimeoutMs);
    await waitFor(async () => (await countBytes(dashcam)) > before + 50_000, 'more reports', usageTimeoutMs);
    await stop(dashcam);
    const counted = await waitForFinalBytes(dashcam);
    expect(counted).toBeGreaterThan(before + 50_000);
    expect(counted).toBeLessThanOrEqual(countSentBytes(dashcam));
  });
});

describe('the data volume over two media services', () => {
  /** Starts a second media service, and a device-api that sends cameras to it. */
  async function startReplica() {
    const media = await ServiceReplica.start(harness, 'jt1078-media');
    const { MEDIA_LIVE_PORT = '', MEDIA_HISTORY_PORT = '', MEDIA_TALK_PORT = '' } = media.ports;
    const ports = { MEDIA_LIVE_PORT, MEDIA_HISTORY_PORT, MEDIA_TALK_PORT };
    const deviceApi = await DeviceApiReplica.start(harness, ports);
    const startChannel = async ({ imei }: Dashcam, channel: number): Promise<boolean> => {
      const response = await fetch(`${deviceApi.videoUrl}/${imei}/start`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': harness.product.runtime.demo.api_key },
        body: JSON.stringify({ channel, data_type: 0, stream_type: 1 }),
      });
      await response.body?.cancel();
      return response.status === 200;
    };
    const stopAll = (signal: 'SIGTERM' | 'SIGKILL') => Promise.all([media.stop(signal), deviceApi.stop()]);
    return { startChannel, stopAll };
  }

  const readChannels = async ({ vehicleId }: Dashcam): Promise<Map<number, number>> => {
    const usage = await owner.request('GET', `/vehicles/${vehicleId}/data-usage`).catch(() => null);
    const channels = (usage?.['channels'] ?? []) as { channel_id: number; bytes: number }[];
    return new Map(channels.map(({ channel_id: channel, bytes }) => [channel, bytes]));
  };
  const waitForBytes = (dashcam: Dashcam, channel: number, bytes: number) =>
    waitFor(
      async () => ((await readChannels(dashcam)).get(channel) ?? 0) > bytes,
      `${bytes} bytes of channel ${channel}`,
      usageTimeoutMs,
    );

  it('is the sum of both, also after one of them was killed', async () => {
    const dashcam = await dashcams.create();
    const first = await startReplica();
    expect((await start(dashcam)).status).toBe(200);
    expect(await first.startChannel(dashcam, 2)).toBe(true);
    for (const channel of [1, 2]) await waitForBytes(dashcam, channel, 50_000);
    await first.stopAll('SIGKILL');
    const killed = (await readChannels(dashcam)).get(2) ?? 0;
    const second = await startReplica();
    try {
      await waitFor(() => second.startChannel(dashcam, 2), 'the second stream of channel 2', usageTimeoutMs);
      await waitForBytes(dashcam, 2, killed + 50_000);
      await owner.send('POST', `/vehicles/stop-dashcam-stream/${dashcam.vehicleId}`, { force: true });
      const counted = await waitForFinalBytes(dashcam);
      const channels = await readChannels(dashcam);
      expect([...channels.values()].reduce((sum, bytes) => sum + bytes, 0)).toBe(counted);
      for (const channel of [1, 2]) {
        const sent = dashcam.terminal.cameras.records.filter((record) => record.channel === channel);
        const sentBytes = sent.reduce((sum, { bytesSent }) => sum + bytesSent, 0);
        expect(channels.get(channel)).toBeGreaterThan(50_000);
        expect(channels.get(channel)).toBeLessThanOrEqual(sentBytes);
      }
    } finally {
      await second.stopAll('SIGTERM');
    }
  });
});

describe('a data budget that is spent', () => {
  const setBudget = async ({ vehicleId }: Dashcam, overBudget: string): Promise<void> => {
    const budget = { vehicle_id: vehicleId, data_budget_mb: 1, over_budget: overBudget };
    const video = { vehicle_data_budgets: [budget] };
    await owner.request('PUT', '/user-preferences/me', { video });
  };

  /** Returns the type of the running stream; undefined if the channel does not stream. */
  async function readStreamType({ vehicleId }: Dashcam): Promise<unknown> {
    const path = `/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&autoStart=false`;
    const { status, body } = await owner.send('GET', path);
    expect([200, 404]).toContain(status);
    return (body as { data?: { stream_type: string } }).data?.stream_type;
  }

  it('limits the running stream to the sub stream, or ends it, for a viewer with the reason', async () => {
    const dashcam = await dashcams.create();
    await setBudget(dashcam, 'sub_stream');
    const { body } = await start(dashcam, { stream_type: 'HIGH' });
    const { stream_type: type, ws_flv_url: url } = (body as { data: { stream_type: string; ws_flv_url: string } }).data;
    expect(type).toBe('HIGH');
    const viewer = new WebSocket(url);
    const closed = new Promise<{ code: number; reason: string }>((resolve) =>
      viewer.addEventListener('close', resolve),
    );
    await waitFor(async () => (await readStreamType(dashcam)) === 'LOW', 'the sub stream', usageTimeoutMs);
    expect(viewer.readyState).toBe(WebSocket.OPEN);
    await setBudget(dashcam, 'refuse');
    const refusedAtMs = performance.now();
    const { code, reason } = await closed;
    expect([code, reason]).toEqual([4429, 'the data budget of the vehicle is spent']);
    // Reports follow every 5 seconds; the machine may be busy.
    expect(performance.now() - refusedAtMs).toBeLessThan(30_000);
    expect(await readStreamType(dashcam)).toBeUndefined();
    const stoppedAt = await waitForFinalBytes(dashcam);
    expect(await countBytes(dashcam)).toBe(stoppedAt);
  });

  it('raises notifications, then limits new streams to the sub stream, or refuses them', async () => {
    const dashcam = await dashcams.create();
    await setBudget(dashcam, 'sub_stream');
    expect((await start(dashcam, { stream_type: 'HIGH' })).body).toMatchObject({ data: { stream_type: 'HIGH' } });
    const notices = async () =>
      dashcams.client.listAll(`/notifications?vehicle_id=${dashcam.vehicleId}&type=data_budget`);
    await waitFor(async () => (await notices()).length === 2, 'both notifications', usageTimeoutMs);
    await stop(dashcam);
    expect((await start(dashcam, { stream_type: 'HIGH' })).body).toMatchObject({ data: { stream_type: 'LOW' } });
    await stop(dashcam);
    await setBudget(dashcam, 'refuse');
    const refused = await start(dashcam);
    expect([refused.status, refused.body]).toEqual([429, expect.objectContaining({ code: 'data_budget_spent' })]);
    expect(await notices()).toHaveLength(2);
  });
});
