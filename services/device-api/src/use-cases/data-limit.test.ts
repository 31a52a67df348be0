import { callUseCase, deviceApi, findDataLimit, serve } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiClient, createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let service: ApiClient & { readonly video: ApiClient };
const limits = new Map<string, 'sub_stream' | 'refuse'>();
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  serve(harness.bus, findDataLimit, { queue: 'platform-api', onError: () => undefined }, async ({ imei }) => ({
    limit: limits.get(imei) ?? null,
    retryAfterSeconds: 3_600,
  }));
  service = await harness.startService({ DEVICE_API_AUTH: 'off' });
});
afterAll(() => harness.close());

async function connect(limit?: 'sub_stream' | 'refuse'): Promise<string> {
  const imei = await harness.connectDevice(({ command }) =>
    createOutcome(command.kind === 'startPlayback' ? 0x9201 : 0x9101),
  );
  if (limit !== undefined) limits.set(imei, limit);
  return imei;
}

const start = (imei: string, body: object = {}) =>
  service.video.get(`/${imei}/start`, { method: 'POST', body: JSON.stringify({ channel: 1, ...body }) });
const startPlayback = (imei: string) => {
  const span = 'start_time=2026-08-01T10:00:00Z&end_time=2026-08-01T11:00:00Z';
  return service.get(
    `/history/start-stream?imei=${imei}&channel=1&${span}&resource_type=0&stream_type=1&memory_type=1`,
  );
};
const findStreamTypes = (imei: string) =>
  harness.findCommands(imei).map(({ command }) => ('streamType' in command ? command.streamType : undefined));

const refusal = {
  status: 429,
  body: { status: 429, error: 'The data budget of the vehicle is spent for this month.' },
};

describe('a device whose data budget is spent', () => {
  it('starts the sub stream instead of the main stream, and plays recordings', async () => {
    const imei = await connect('sub_stream');
    expect((await start(imei, { stream_type: 0 })).status).toBe(200);
    expect((await startPlayback(imei)).status).toBe(200);
    expect(findStreamTypes(imei)).toEqual([1, 1]);
  });

  it('starts neither live video nor playback if streams are refused, and gets no command', async () => {
    const imei = await connect('refuse');
    const response = await start(imei);
    expect(response).toMatchObject(refusal);
    expect(response.headers.get('retry-after')).toBe('3600');
    expect(await service.get(`/realtime/start-stream?imei=${imei}&channel=1`)).toMatchObject(refusal);
    expect(await startPlayback(imei)).toMatchObject(refusal);
    const request = { imei, channel: 1, dataType: 0, streamType: 0 };
    const overBus = callUseCase(harness.bus, deviceApi.startLive, request, { timeoutMs: 10_000 });
    await expect(overBus).rejects.toMatchObject({ code: 'data_budget_spent', headers: { 'Retry-After': '3600' } });
    expect(harness.findCommands(imei)).toEqual([]);
  });
});

describe('a device within its data budget', () => {
  it('starts the stream that was requested', async () => {
    const imei = await connect();
    expect((await start(imei, { stream_type: 0 })).status).toBe(200);
    expect(findStreamTypes(imei)).toEqual([0]);
  });
});
