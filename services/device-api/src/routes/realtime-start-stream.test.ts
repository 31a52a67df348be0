import { callUseCase, deviceApi, type Outcome, type StreamChanged, streamChanged, subscribe } from '@fleet/bus';
import { acknowledgeStream, claimStream, readStream, reserveStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, randomImei, slowBucket } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService(slowBucket);
});
afterAll(() => harness.close());

const success = { response_id: '0x9101', result: 'success' };
const start = (imei: string, more = '', client = api) =>
  client.get(`/realtime/start-stream?imei=${imei}&channel=1${more}`);
const live = (imei: string, channel = 1) => ({ kind: 'live', imei, channel }) as const;

/** A device that responds when the test says so. */
async function slowDevice(): Promise<{ imei: string; respond: (outcome: Outcome) => void }> {
  const waiting: ((outcome: Outcome) => void)[] = [];
  const imei = await harness.connectDevice(() => new Promise<Outcome>((resolve) => waiting.push(resolve)));
  return { imei, respond: (outcome) => waiting.splice(0).forEach((resolve) => resolve(outcome)) };
}

describe('the command to the camera', () => {
  const own = { server: 'media.fleet.example', tcpPort: 7078, udpPort: 0, channel: 1, dataType: 0, streamType: 0 };
  it.each([
    ['', {}, false],
    ['&data_type=3&stream_type=1', { dataType: 3, streamType: 1 }, false],
    ['&host=other.example', { server: 'other.example' }, true],
    ['&host=MEDIA.fleet.example&tcp_port=7078', { server: 'MEDIA.fleet.example' }, false],
    ['&tcp_port=9000', { tcpPort: 9000 }, true],
    ['&udp_port=9001', { udpPort: 9001 }, true],
    ['&tcp_port=0', { tcpPort: 0, udpPort: 7078 }, false],
    ['&tcp_port=0&udp_port=7078', { tcpPort: 0, udpPort: 7078 }, false],
    ['&host=10.1.2.3&tcp_port=65535&udp_port=1', { server: '10.1.2.3', tcpPort: 65535, udpPort: 1 }, true],
    ['&host=2001:db8::1', { server: '2001:db8::1' }, true],
  ])('with %p', async (query, changed, isForeign) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    expect((await start(imei, query)).body).toEqual(success);
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual([
      { kind: 'startLive', ...own, ...changed },
    ]);
    const { request } = await readStream(harness.redis, live(imei));
    expect(request).toMatchObject({ status: 'acknowledged', isForeign });
  });

  it('is 400 for a host outside the allow-list, which always contains this server', async () => {
    const strict = await harness.startService({ DEVICE_HOST_ALLOWLIST: 'a.example, B.example' });
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    expect(await start(imei, '&host=c.example', strict)).toMatchObject({ status: 400, body: { status: 400 } });
    expect(harness.findCommands(imei)).toEqual([]);
    expect((await start(imei, '&host=b.EXAMPLE', strict)).status).toBe(200);
    expect(
      (await start(await harness.connectDevice(() => createOutcome(0x9101)), '&host=media.fleet.example', strict))
        .status,
    ).toBe(200);
    // Requests over the bus reach any replica.
    await strict.stop();
  });
});

describe('a channel that is streaming', () => {
  it('returns 200 without another command, before and after the first packet', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await start(imei);
    expect((await start(imei)).body).toEqual(success);
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await start(imei, '&stream_type=1')).body).toEqual(success);
    expect((await start(`00000000${imei}`)).body).toEqual(success);
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it('is requested again when its stream has ended', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await start(imei);
    const camera = await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    await camera.leave();
    await start(imei);
    expect(harness.findCommands(imei)).toHaveLength(2);
  });
});

describe('a claim of a dead media pod', () => {
  it('is ignored: the camera is requested', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const dead = { podId: `dead-${imei}`, url: 'http://127.0.0.1:1' };
    await claimStream(harness.redis, live(imei), dead, { acceptUnsolicited: true });
    const events: StreamChanged[] = [];
    const onError = (error: unknown): void => {
      throw error;
    };
    const subscription = subscribe(harness.bus, streamChanged, onError, (change) => {
      if (change.imei === imei) events.push(change);
    });
    await harness.bus.nc.flush();
    expect(await start(imei)).toMatchObject({ status: 200, body: success });
    await waitFor(() => events.length === 2);
    subscription.stop();
    expect(events.map(({ status: word }) => word)).toEqual(['stopped', 'starting']);
    expect(harness.findCommands(imei)).toHaveLength(1);
    // Identifies the camera's reaction to this request if it is published earlier.
    expect(await readStream(harness.redis, live(imei))).toMatchObject({
      claim: null,
      request: { status: 'acknowledged', requestId: events[1]?.startId },
    });
    expect(events[1]?.startId).toEqual(expect.any(String));
  });
});

describe('a camera that does not accept', () => {
  it.each<[string, Outcome, number]>([
    ['refuses', createOutcome(0x9101, 1), 200],
    ['does not know the command', createOutcome(0x9101, 3), 200],
    ['sends an unreadable response', { kind: 'unreadable', detail: 'x' }, 502],
    ['is gone', { kind: 'notConnected' }, 404],
    ['is silent', { kind: 'timedOut' }, 504],
  ])('leaves no state when it %s', async (_what, outcome, status) => {
    const imei = await harness.connectDevice(() => outcome);
    expect((await start(imei)).status).toBe(status);
    expect(await readStream(harness.redis, live(imei))).toEqual({ claim: null, request: null });
    expect((await api.get(`/realtime/stream.flv?imei=${imei}&channel=1`)).status).toBe(404);
    await start(imei);
    expect(harness.findCommands(imei)).toHaveLength(2);
  });
});

describe('a camera that connects before its response', () => {
  it('streams, and its response changes nothing', async () => {
    const { imei, respond } = await slowDevice();
    const first = start(imei);
    await waitFor(() => harness.findCommands(imei).length === 1);
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await start(imei)).body).toEqual(success);
    respond(createOutcome(0x9101));
    expect((await first).body).toEqual(success);
    expect((await readStream(harness.redis, live(imei))).claim).not.toBeNull();
  });

  it('counts as streaming before the time-out of a response that was lost with its gateway', async () => {
    const { imei, respond } = await slowDevice();
    const first = start(imei);
    await waitFor(() => harness.findCommands(imei).length === 1);
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await first).body).toEqual(success);
    expect((await readStream(harness.redis, live(imei))).claim).not.toBeNull();
    expect(harness.findCommands(imei)).toHaveLength(1);
    // A late refusal changes nothing.
    respond(createOutcome(0x9101, 1));
    expect((await start(imei)).body).toEqual(success);
  });

  it('counts as streaming if the response never arrives', async () => {
    const { imei, respond } = await slowDevice();
    const first = start(imei);
    await waitFor(() => harness.findCommands(imei).length === 1);
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    respond({ kind: 'timedOut' });
    expect((await first).body).toEqual(success);
  });
});

describe('concurrent requests', () => {
  it.each<[string, Outcome, number, unknown]>([
    ['success', createOutcome(0x9101), 200, success],
    ['failure', createOutcome(0x9101, 1), 200, { response_id: '0x9101', result: 'failure' }],
    ['silence', { kind: 'timedOut' }, 504, { status: 504, error: 'The device did not reply in time.' }],
    ['absence', { kind: 'notConnected' }, 404, { status: 404, error: 'The device is not connected.' }],
  ])('send one command and share its %s on every replica', async (_what, outcome, status, body) => {
    const replica = await harness.startService(slowBucket);
    const { imei, respond } = await slowDevice();
    const requests = [start(imei), start(imei), start(imei, '', replica), start(imei, '&data_type=1', replica)];
    const channel2 = api.get(`/realtime/start-stream?imei=${imei}&channel=2`);
    await waitFor(() => harness.findCommands(imei).length === 2);
    // The others must be waiting by then: a request after a failure sends another command.
    await harness.waitUntilChecked(imei, requests.length + 1, [api, replica]);
    respond(outcome);
    const responses = await Promise.all(requests);
    expect(responses.map((one) => [one.status, one.body])).toEqual(requests.map(() => [status, body]));
    expect((await channel2).status).toBe(status);
    const toChannel1 = harness
      .findCommands(imei)
      .filter(({ command }) => 'channel' in command && command.channel === 1);
    expect(toChannel1).toHaveLength(1);
  });

  it('send another command if the requesting process died', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const request = {
      requestId: 'of-a-dead-process',
      status: 'asking',
      dataType: 0,
      streamType: 0,
      isForeign: false,
      requestedAtMs: Date.now(),
      correlationId: 'x',
    } as const;
    await reserveStream(harness.redis, live(imei), request);
    const waiting = start(imei);
    await harness.redis.pExpire(`stream-request:live:{${imei}}:1`, 300);
    expect((await waiting).body).toEqual(success);
    expect(harness.findCommands(imei)).toHaveLength(1);
  });

  it('send another command if a stream has left its pod and the camera cannot come', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const address = { server: 'media.fleet.example', tcpPort: 7078, udpPort: 0 };
    const moved = (requestId: string, requestedAtMs: number, tcpPort = address.tcpPort) =>
      reserveStream(harness.redis, live(imei), {
        requestId,
        status: 'acknowledged',
        dataType: 0,
        streamType: 0,
        isForeign: false,
        requestedAtMs,
        correlationId: 'x',
        address: { ...address, tcpPort },
        move: { fromPodId: 'stopped' },
      });
    await moved('of-a-move', Date.now());
    expect((await start(imei)).body).toEqual(success);
    expect(harness.findCommands(imei)).toEqual([]);
    await harness.redis.del(`stream-request:live:{${imei}}:1`);
    await moved('of-an-old-move', Date.now() - 10_000);
    expect((await start(imei)).body).toEqual(success);
    expect(harness.findCommands(imei)).toHaveLength(1);
    await harness.redis.del(`stream-request:live:{${imei}}:1`);
    await moved('to-another-port', Date.now(), 7000);
    expect((await start(imei)).body).toEqual(success);
    expect(harness.findCommands(imei)).toHaveLength(2);
  });

  it('end in 504 if the other request outlives their own time-out', async () => {
    const quick = await harness.startService({ DEVICE_REPLY_TIMEOUT_MS: '400' });
    const { imei, respond } = await slowDevice();
    const first = start(imei);
    await waitFor(() => harness.findCommands(imei).length === 1);
    expect((await start(imei, '', quick)).status).toBe(504);
    respond(createOutcome(0x9101));
    expect((await first).status).toBe(200);
    await quick.stop();
  });
});

describe('at most 16 channels of a device', () => {
  it('stream: one more is 429, a running one is still 200', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    for (let channel = 1; channel <= 16; channel += 1) {
      const id = live(imei, channel);
      const requestId = `r${channel}`;
      const more = { dataType: 0, streamType: 0, isForeign: false, requestedAtMs: Date.now(), correlationId: 'x' };
      await reserveStream(harness.redis, id, { requestId, status: 'asking', ...more });
      await acknowledgeStream(harness.redis, id, requestId);
      if (channel % 2 === 0) await claimStream(harness.redis, id, { podId: 'p', url: 'http://127.0.0.1:1' });
    }
    const refused = await api.get(`/realtime/start-stream?imei=${imei}&channel=17`);
    expect(refused).toMatchObject({
      status: 429,
      body: { status: 429, error: expect.stringContaining('16 channels') },
    });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(harness.findCommands(imei)).toEqual([]);
    expect((await readStream(harness.redis, live(imei, 17))).request).toBeNull();
    expect((await api.get(`/realtime/start-stream?imei=${imei}&channel=16`)).status).toBe(200);
  });
});

describe('over the bus', () => {
  it('is the same use case, with its errors', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const options = { timeoutMs: 5_000, correlationId: 'from-platform' };
    const body = { imei, channel: 1, dataType: 0, streamType: 1 };
    await expect(callUseCase(harness.bus, deviceApi.startLive, body, options)).resolves.toEqual({
      responseId: '0x9101',
      result: 'success',
    });
    expect(harness.findCommands(imei)[0]).toMatchObject({ correlationId: 'from-platform', command: { streamType: 1 } });
    expect(harness.findCommands(imei)[0]?.timeoutMs).toBeLessThan(5_000);
    await expect(callUseCase(harness.bus, deviceApi.wakeUp, { imei: randomImei() }, options)).rejects.toMatchObject({
      code: 'device_not_connected',
      status: 404,
    });
    const control = { imei, channel: 1, control: 2, closeType: 0, streamType: 0 };
    await expect(callUseCase(harness.bus, deviceApi.controlLive, control, options)).resolves.toMatchObject({
      result: 'success',
    });
  });
});
