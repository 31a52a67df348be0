import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiRequest, createApiSender, deviceCommands } from './testing/device-api.ts';
import { stopBackend } from './testing/faults.ts';
import { type DedicatedHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { expectApiError, type HttpReply, send } from './testing/http.ts';
import { IdleCamera, requestUpload } from './testing/idle-camera.ts';

const requestTimeoutMs = 6_000;

let harness: DedicatedHarness;

beforeAll(async () => {
  harness = await startHarness({
    REQUEST_TIMEOUT_MS: String(requestTimeoutMs),
    RATE_LIMIT_READS_PER_SECOND: '1',
    RATE_LIMIT_READS_BURST: '5',
    RATE_LIMIT_COMMANDS_PER_MINUTE: '20',
    RATE_LIMIT_COMMANDS_BURST: '3',
    RATE_LIMIT_STREAM_OPENS_PER_MINUTE: '4',
    RATE_LIMIT_HEALTH_PER_SECOND: '1',
    RATE_LIMIT_HEALTH_BURST: '6',
  });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = createApiSender(() => harness);
let addresses = 1;
/** Creates a caller with a unique address: reads and health are counted by address. */
function createCaller(): (request: string | ApiRequest) => Promise<HttpReply> {
  addresses += 1;
  const from = `127.0.${Math.floor(addresses / 250)}.${addresses % 250}`;
  return (request) => api(request, { from });
}

const parseRateHeaders = ({ headers }: HttpReply): Record<'limit' | 'remaining' | 'reset', number> => ({
  limit: Number(headers['x-ratelimit-limit']),
  remaining: Number(headers['x-ratelimit-remaining']),
  reset: Number(headers['x-ratelimit-reset']),
});

/** Sends more concurrent requests than there are tokens and asserts how many are refused. */
async function expectLimit(
  burst: number,
  sendRequest: () => Promise<HttpReply>,
  allowedStatus: number,
): Promise<HttpReply> {
  // Tokens are refilled while the requests are in flight: more than the burst may pass, but never all.
  const replies = await Promise.all(Array.from({ length: burst * 4 }, sendRequest));
  const refused = replies.filter((reply) => reply.status === 429);
  const allowed = replies.filter((reply) => reply.status === allowedStatus);
  expect(allowed.length + refused.length).toBe(replies.length);
  expect(allowed.length).toBeGreaterThanOrEqual(burst);
  expect(refused.length).toBeGreaterThan(0);
  const now = Date.now() / 1000;
  for (const reply of refused) {
    expectApiError(reply, 429);
    const { limit, remaining, reset } = parseRateHeaders(reply);
    expect([limit, remaining]).toEqual([burst, 0]);
    const retryAfter = Number(reply.headers['retry-after']);
    expect(Number.isInteger(retryAfter) && retryAfter >= 1 && retryAfter <= 60).toBe(true);
    expect(reset).toBeGreaterThan(now - 60);
    expect(reset).toBeLessThan(now + 120);
  }
  for (const reply of allowed) expect(parseRateHeaders(reply).limit).toBe(burst);
  const [first] = refused;
  if (first === undefined) throw new Error('nothing was refused');
  return first;
}

/** Repeats the request after the time that the refusal gives in `retry-after`. */
async function sendAfterWait(sendRequest: () => Promise<HttpReply>, refused: HttpReply): Promise<HttpReply> {
  const waitMs = Number(refused.headers['retry-after']) * 1000;
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  return sendRequest();
}

/**
 * Sends requests one by one until one is refused, and repeats it after the given time. No concurrent request can use
 * the refilled tokens.
 */
async function expectServedAfterWait(sendRequest: () => Promise<HttpReply>, status: number): Promise<void> {
  const refused = await waitFor(async () => {
    const reply = await sendRequest();
    return reply.status === 429 ? reply : undefined;
  }, 'a refusal');
  expect((await sendAfterWait(sendRequest, refused)).status).toBe(status);
}

describe('status 429', () => {
  it('limits commands for each device without affecting another device', async () => {
    const [one, other] = [await harness.startTerminal(), await harness.startTerminal()];
    const sendRequest = createCaller();
    const long = one.phone.padStart(20, '0');
    // Both spellings of a number name one device, and all commands count together.
    const paths = [
      `/wakeup?imei=${one.phone}`,
      `/wakeup?imei=${long}`,
      `/realtime/control-stream?imei=${one.phone}&channel=1&ctrl_instruction=2`,
    ];
    let pathIndex = 0;
    await expectLimit(3, () => sendRequest(paths[(pathIndex += 1) % paths.length] ?? ''), 200);
    expect((await sendRequest(`/wakeup?imei=${other.phone}`)).status).toBe(200);
    const written = (): number => one.receivedFrames(0x8201).length + one.receivedFrames(0x9102).length;
    const before = written();
    // A token may have been refilled; never as many as are requested.
    const more = await Promise.all(Array.from({ length: 6 }, () => createCaller()(`/wakeup?imei=${one.phone}`)));
    const served = more.filter(({ status }) => status === 200).length;
    expect(served).toBeLessThan(more.length);
    expect(served + more.filter(({ status }) => status === 429).length).toBe(more.length);
    expect(written()).toBe(before + served);
    // A caller that waits as long as `retry-after` says is served.
    await expectServedAfterWait(() => sendRequest(`/wakeup?imei=${one.phone}`), 200);
  }, 60_000);

  it.each(deviceCommands.map((command) => [command.endpoint, command] as const))(
    'counts a command whether its device is connected or not: %s',
    async (_endpoint, { request }) => {
      const imei = uniquePhone();
      const refused = await expectLimit(3, () => createCaller()(request(imei)), 404);
      // 20 in a minute: the next request is allowed after three seconds at most.
      expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(3);
    },
  );

  it('counts upload control as a command to its device', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    // Resuming an upload that is not paused sends no command to the camera, but counts as one.
    const resume = (): Promise<HttpReply> => createCaller()(`/videos/control?video_id=${videoId}&action=1`);
    const replies = await Promise.all(Array.from({ length: 12 }, resume));
    expect(replies.every(({ status }) => [409, 429].includes(status))).toBe(true);
    expect(replies.some(({ status }) => status === 429)).toBe(true);
    // A token may have been refilled; never as many as are requested.
    const wakes = await Promise.all(Array.from({ length: 6 }, () => createCaller()(`/wakeup?imei=${idle.phone}`)));
    const refused = wakes.find(({ status }) => status === 429);
    if (refused === undefined) throw new Error('nothing was refused');
    expect(expectApiError(refused, 429)).toContain('Retry in');
    await expectServedAfterWait(resume, 409);
  }, 60_000);

  it.each([
    ['GET /videos', { path: `/videos?video_id=${'f'.repeat(24)}` }, 404],
    ['DELETE /videos', { path: `/videos?video_id=${'f'.repeat(24)}`, method: 'DELETE' }, 404],
    ['GET /videos/list', { path: `/videos/list?imei=${uniquePhone()}` }, 200],
  ] as [string, ApiRequest, number][])('limits reads for each address: %s', async (_name, request, status) => {
    const sendRequest = createCaller();
    const refused = await expectLimit(5, () => sendRequest(request), status);
    expect(refused.headers['retry-after']).toBe('1');
    expect((await createCaller()(request)).status).toBe(status);
    expect((await sendAfterWait(() => sendRequest(request), refused)).status).toBe(status);
  });

  it('does not count invalid requests as commands', async () => {
    const terminal = await harness.startTerminal();
    const sendRequest = createCaller();
    const path = `/realtime/control-stream?imei=${terminal.phone}&channel=1&ctrl_instruction`;
    for (let times = 0; times < 10; times += 1) expect((await sendRequest(`${path}=9`)).status).toBe(400);
    expect(parseRateHeaders(await sendRequest(`${path}=2`)).remaining).toBe(2);
  }, 60_000);

  it('limits reads for each address', async () => {
    const [sendRequest, sendFromElsewhere] = [createCaller(), createCaller()];
    // A new channel each time, so that the limit of a channel does not apply.
    let channel = 0;
    const path = (): string => `/realtime/stream.flv?imei=${uniquePhone()}&channel=${(channel += 1)}`;
    const replies = await Promise.all(Array.from({ length: 20 }, () => sendRequest(path())));
    const refused = replies.filter((reply) => reply.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    for (const reply of refused) expect(parseRateHeaders(reply).limit).toBe(5);
    expect(replies.filter((reply) => reply.status === 404).length).toBeGreaterThanOrEqual(5);
    expect((await sendFromElsewhere(path())).status).toBe(404);
  }, 60_000);

  it('limits openings of a stream for each channel, for all callers together', async () => {
    const imei = uniquePhone();
    // 404 counts as well; otherwise a caller could poll without a limit.
    const refused = await expectLimit(4, () => createCaller()(`/realtime/stream.flv?imei=${imei}&channel=1`), 404);
    expect(Number(refused.headers['retry-after'])).toBeLessThanOrEqual(15);
    expect((await createCaller()(`/realtime/stream.flv?imei=${imei}&channel=2`)).status).toBe(404);
  }, 60_000);

  it.each(['/health', `/health/device?imei=${uniquePhone()}`, `/health/camera?imei=${uniquePhone()}&channel=1`])(
    'limits health requests for each address: %s',
    async (path) => {
      const sendRequest = createCaller();
      await expectLimit(6, () => sendRequest(path), path === '/health' ? 200 : 503);
      expect((await createCaller()(path)).status).not.toBe(429);
    },
    60_000,
  );

  it('ignores headers in which a caller claims another address', async () => {
    const from = '127.0.99.1';
    const sendRequest = (forwarded: string): Promise<HttpReply> =>
      send(harness.product.runtime.base_url, '/api/v1/health', { from, headers: { 'x-forwarded-for': forwarded } });
    const replies = await Promise.all(Array.from({ length: 24 }, (_unused, index) => sendRequest(`10.0.0.${index}`)));
    expect(replies.some((reply) => reply.status === 429)).toBe(true);
  }, 60_000);
});

describe('status 503', () => {
  it('the request ran past the limit of the server, at any stage: each command to a device', async () => {
    // The device reply timeout is longer than the request limit here, so that the request limit applies.
    const silent = async (): Promise<SimulatedTerminal> => {
      const terminal = await harness.startTerminal();
      terminal.setBehaviour({ kind: 'silent' });
      return terminal;
    };
    const terminals = await Promise.all(deviceCommands.map(silent));
    const startedAt = performance.now();
    const replies = await Promise.all(
      deviceCommands.map(({ request }, index) => createCaller()(request(terminals[index]?.phone ?? ''))),
    );
    for (const reply of replies) expect(expectApiError(reply, 503)).toContain('limit of 6 seconds');
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(requestTimeoutMs - 50);
    for (const [index, { messageId }] of deviceCommands.entries())
      expect(terminals[index]?.receivedFrames(messageId)).toHaveLength(1);
  }, 60_000);

  it('new commands are 503 soon while the broker is unavailable, and health reports it', async () => {
    const terminal = await harness.startTerminal();
    const paths = [
      `/wakeup?imei=${terminal.phone}`,
      `/realtime/start-stream?imei=${terminal.phone}&channel=1`,
      `/realtime/control-stream?imei=${terminal.phone}&channel=1&ctrl_instruction=0`,
    ];
    const broker = await stopBackend(harness, 'nats');
    const health = await createCaller()('/health');
    expect([health.status, JSON.parse(health.text)]).toMatchObject([
      503,
      { healthy: false, components: { message_broker: false, state_store: true } },
    ]);
    const startedAt = performance.now();
    const replies = await Promise.all(paths.map((path) => createCaller()(path)));
    const sentence = 'Devices are unavailable at the moment: the message broker is down. Retry later.';
    for (const reply of replies) expect(expectApiError(reply, 503)).toBe(sentence);
    // Two seconds, in which a restarting broker would reconnect; a little more on a busy machine.
    expect(performance.now() - startedAt).toBeLessThan(requestTimeoutMs);
    // The state of any other device is unknown.
    expect(expectApiError(await createCaller()(`/wakeup?imei=${uniquePhone()}`), 503)).toBe(sentence);
    await broker.restore();
    // The three commands used the three tokens, and all of this may take less time than the refill of one.
    const served = await waitFor(async () => {
      const reply = await createCaller()(`/wakeup?imei=${terminal.phone}`);
      return reply.status === 429 ? undefined : reply;
    }, 'a token');
    expect(served.status).toBe(200);
    expect(terminal.receivedFrames(0x9101)).toEqual([]);
  }, 120_000);
});
