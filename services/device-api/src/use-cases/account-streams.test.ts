import { callUseCase, deviceApi } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const limit = 3;
let harness: DeviceApiHarness;
let platform: FakePlatform;
let replicas: Awaited<ReturnType<DeviceApiHarness['startService']>>[];
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  const env = { DEVICE_API_AUTH: 'off', MAX_STREAMS_PER_ACCOUNT: String(limit) };
  replicas = [await harness.startService(env), await harness.startService(env)];
});
afterAll(async () => {
  await platform.stop();
  await harness.close();
});

let lastAccountId = 100;
function newAccount(): number {
  lastAccountId += 1;
  return lastAccountId;
}

async function device(accountId: number): Promise<string> {
  const imei = await harness.connectDevice(({ command }) =>
    createOutcome(command.kind === 'startPlayback' ? 0x9201 : 0x9101),
  );
  platform.moveDevice(imei, accountId);
  return imei;
}

const start = (imei: string, replica = 0, channel = 1) => {
  const init = { method: 'POST', body: JSON.stringify({ channel }) };
  return replicas[replica]?.video.get(`/${imei}/start`, init) ?? Promise.reject(new Error('there is no such replica'));
};

/** Starts as many streams as the account may have, over both replicas. */
async function fill(accountId: number): Promise<string[]> {
  const imeis: string[] = [];
  for (let n = 0; n < limit; n += 1) {
    const imei = await device(accountId);
    expect((await start(imei, n % 2)).status).toBe(200);
    imeis.push(imei);
  }
  return imeis;
}

const refusal = {
  status: 429,
  body: { status: 429, error: `The account already has ${limit} streams. Stop one, or retry later.` },
};

describe('the limit on streams of an account', () => {
  it('refuses the next start on both hosts, and on the bus, with the time of a retry', async () => {
    const accountId = newAccount();
    await fill(accountId);
    const imei = await device(accountId);
    const response = await start(imei, 1);
    expect(response).toMatchObject(refusal);
    expect(response.headers.get('retry-after')).toBe('60');
    expect(await replicas[0]?.get(`/realtime/start-stream?imei=${imei}&channel=1`)).toMatchObject(refusal);
    const span = 'start_time=2026-08-01T10:00:00Z&end_time=2026-08-01T11:00:00Z';
    const playback = `/history/start-stream?imei=${imei}&channel=1&${span}&resource_type=0&stream_type=1&memory_type=1`;
    expect(await replicas[0]?.get(playback)).toMatchObject(refusal);
    const request = { imei, channel: 1, dataType: 0, streamType: 0 };
    const overBus = callUseCase(harness.bus, deviceApi.startLive, request, { timeoutMs: 10_000 });
    await expect(overBus).rejects.toMatchObject({ code: 'quota_exceeded', headers: { 'Retry-After': '60' } });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('counts no stream twice, and no stream of another account', async () => {
    const accountId = newAccount();
    const [first = ''] = await fill(accountId);
    expect(await start(first, 1)).toMatchObject({ status: 200, body: { result: 'success' } });
    expect((await start(await device(newAccount()))).status).toBe(200);
  });

  it('is not exceeded by starts at the same time on two replicas', async () => {
    const accountId = newAccount();
    const imeis = await Promise.all(Array.from({ length: 8 }, () => device(accountId)));
    const statuses = await Promise.all(imeis.map(async (imei, n) => (await start(imei, n % 2)).status));
    expect(statuses.filter((status) => status === 200)).toHaveLength(limit);
    expect(statuses.filter((status) => status === 429)).toHaveLength(imeis.length - limit);
  });

  it('counts a stream until it has ended', async () => {
    const accountId = newAccount();
    const [first = ''] = await fill(accountId);
    const stream = await harness.connectStream(first, 1, 'http://127.0.0.1:1');
    const imei = await device(accountId);
    expect(await start(imei)).toMatchObject(refusal);
    await stream.leave();
    expect((await start(imei)).status).toBe(200);
  });

  it('does not count a stream whose process was killed', async () => {
    const accountId = newAccount();
    const [first = ''] = await fill(accountId);
    const imei = await device(accountId);
    expect(await start(imei)).toMatchObject(refusal);
    // As if both had expired without renewal.
    await harness.redis.del(`stream-request:live:{${first}}:1`);
    await harness.redis.zAdd(`account-streams:${accountId}`, { score: Date.now() - 1, value: `live:${first}:1` });
    expect((await start(imei)).status).toBe(200);
  });

  it('does not count a start that the camera refused', async () => {
    const accountId = newAccount();
    const refusing = await harness.connectDevice(() => createOutcome(0x9101, 1));
    platform.moveDevice(refusing, accountId);
    expect(await start(refusing)).toMatchObject({ status: 200, body: { result: 'failure' } });
    await fill(accountId);
  });

  it('is the limit of the account, if it has one', async () => {
    const accountId = newAccount();
    platform.quotas.set(accountId, { maxStreams: limit + 1 });
    await fill(accountId);
    expect((await start(await device(accountId))).status).toBe(200);
    expect(await start(await device(accountId))).toMatchObject({ status: 429 });
    platform.quotas.set(accountId, { maxStreams: 0 });
    expect(await start(await device(accountId))).toMatchObject({ status: 429 });
  });

  it('rejects no start while platform-api is unreachable', async () => {
    const accountId = newAccount();
    await fill(accountId);
    const imei = await device(accountId);
    await platform.stop();
    expect((await start(imei)).status).toBe(200);
    await platform.serve();
  });
});
