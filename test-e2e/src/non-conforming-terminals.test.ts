import type { Behaviour, SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApiSender, deviceCommands, parseReply } from './testing/device-api.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { expectApiError, type HttpReply } from './testing/http.ts';
import { IdleCamera, requestUpload } from './testing/idle-camera.ts';
import { readCounter } from './testing/metrics.ts';
import { Viewer } from './testing/viewer.ts';

/** Device reply timeout: long enough for a regular device on a busy machine. */
const deviceReplyTimeoutMs = 4_000;

let harness: ProductHarness;
/** Replies to every command throughout the test. The non-conforming terminals must never affect it. */
let witness: SimulatedTerminal;
let gatewayPid: number | undefined;

beforeAll(async () => {
  harness = await startHarness({
    DEVICE_REPLY_TIMEOUT_MS: String(deviceReplyTimeoutMs),
    UPLOAD_CONTROL_TIMEOUT_MS: '2000',
    WAKE_UP_INTERVAL_MS: '500',
    SESSION_IDLE_SECONDS: '60',
  });
  gatewayPid = harness.product.runtime.processes['jt808-gateway'];
  witness = await harness.startTerminal();
}, 180_000);

afterAll(async () => {
  const pid = harness.product.runtime.processes['jt808-gateway'];
  await harness.stop();
  // None of these tests ended a process.
  expect(pid).toBe(gatewayPid);
}, 60_000);

const api = createApiSender(() => harness);
const wake = (terminal: { phone: string }): Promise<HttpReply> => api(`/wakeup?imei=${terminal.phone}`);
const control = (terminal: { phone: string }, channel = 1): Promise<HttpReply> =>
  api(`/realtime/control-stream?imei=${terminal.phone}&channel=${channel}&ctrl_instruction=2`);
const start = (terminal: { phone: string }, channel = 1): Promise<HttpReply> =>
  api(`/realtime/start-stream?imei=${terminal.phone}&channel=${channel}`);
const countUnmatched = (reason: string): Promise<number> =>
  readCounter(harness, 'jt808-gateway', 'gateway_unmatched_responses_total', { reason });

/** Pauses a channel that does not stream, which a regular terminal refuses. */
const refusedPause = { response_id: '0x9102', result: 'failure' };

const countTimedOut = (): Promise<number> =>
  readCounter(harness, 'jt808-gateway', 'gateway_commands_total', { outcome: 'timedOut' });

async function expectWorks(terminal: { phone: string }): Promise<void> {
  const reply = await control(terminal);
  expect([reply.status, JSON.parse(reply.text)]).toEqual([200, refusedPause]);
}

const quickReconnect = { minMs: 100, maxMs: 500 };

/** Replies to a command by 0x0001. */
function createGeneralResponse(
  terminal: SimulatedTerminal,
  command: { serial: number; messageId: number },
  result: number,
) {
  const body = Buffer.alloc(5, result);
  body.writeUInt16BE(command.serial, 0);
  body.writeUInt16BE(command.messageId, 2);
  terminal.send({ messageId: 0x0001, body });
}

describe('non-conforming replies', () => {
  it('counts a late reply and delivers it to no caller', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'silent' });
    const before = await countUnmatched('late');
    const timedOutBefore = await countTimedOut();
    expect(expectApiError(await start(terminal), 504)).toBe('The device did not reply in time.');
    // The gateway starts its timer after the caller, so the command may still be pending there.
    await waitFor(async () => (await countTimedOut()) > timedOutBefore, 'the gateway to end the command');
    const [late] = terminal.receivedFrames(0x9101);
    if (late === undefined) throw new Error('no command received');

    const next = start(terminal, 2);
    const command = await waitFor(() => terminal.receivedFrames(0x9101)[1], 'the next command');
    // The gateway reads them in this order.
    createGeneralResponse(terminal, late, 3);
    createGeneralResponse(terminal, command, 1);
    const reply = await next;
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { response_id: '0x9101', result: 'failure' }]);
    expect(await countUnmatched('late')).toBe(before + 1);
    terminal.resetBehaviour();
    await expectWorks(terminal);
  }, 60_000);

  it('accepts a repeated reply once', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'twice' });
    const before = await countUnmatched('repeated');
    for (let times = 0; times < 3; times += 1) await expectWorks(terminal);
    expect((await wake(terminal)).status).toBe(200);
    await waitFor(async () => (await countUnmatched('repeated')) === before + 4, 'the repeats to be counted');
  }, 60_000);

  it('ignores a reply with a wrong serial, even while another command is in flight', async () => {
    const terminal = await harness.startTerminal();
    const before = await countUnmatched('wrongSerial');
    terminal.setBehaviour({ kind: 'wrongSerial' }, 0x9102);
    terminal.setBehaviour({ kind: 'slow', delayMs: 1_000 }, 0x9101);
    const [paused, started] = await Promise.all([control(terminal), start(terminal)]);
    expectApiError(paused, 504);
    expect([started.status, JSON.parse(started.text)]).toEqual([200, { response_id: '0x9101', result: 'success' }]);
    expect(await countUnmatched('wrongSerial')).toBe(before + 1);
  }, 60_000);

  it('treats a streaming camera as success, whatever its terminal replied', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'wrongSerial' }, 0x9101);
    const reply = await start(terminal);
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { response_id: '0x9101', result: 'success' }]);
    expect(terminal.cameras.records).toHaveLength(1);
  }, 60_000);

  it('ignores a reply that names another command', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'silent' });
    const before = await countUnmatched('wrongId');
    const pending = control(terminal);
    const command = await waitFor(() => terminal.receivedFrames(0x9102)[0], 'the command');
    createGeneralResponse(terminal, { serial: command.serial, messageId: 0x9101 }, 0);
    await waitFor(async () => (await countUnmatched('wrongId')) === before + 1, 'the reply to be counted');
    createGeneralResponse(terminal, command, 2);
    expect(JSON.parse((await pending).text)).toEqual({ response_id: '0x9102', result: 'incorrectInfo' });
  }, 60_000);

  it('garbage instead of a reply fails the command and does not close the connection', async () => {
    const forms = ['badChecksum', 'noise', 'halfGlued'] as const;
    const terminals = await Promise.all(forms.map(() => harness.startTerminal({ reconnect: false })));
    for (const [index, form] of forms.entries()) terminals[index]?.setBehaviour({ kind: 'garbage', form });
    const pending = terminals.flatMap((terminal) => [wake(terminal), start(terminal), control(terminal)]);
    for (const reply of await Promise.all(pending)) expectApiError(reply, 504);
    await expectWorks(witness);
    for (const terminal of terminals) {
      terminal.resetBehaviour();
      await expectWorks(terminal);
      expect((await wake(terminal)).status).toBe(200);
      expect(terminal.isOnline).toBe(true);
    }
  }, 60_000);

  it('returns 502 immediately for a truncated reply body, and accepts the next reply', async () => {
    const terminal = await harness.startTerminal({ reconnect: false });
    terminal.setBehaviour({ kind: 'garbage', form: 'cutBody' });
    for (const reply of await Promise.all([wake(terminal), control(terminal)])) expectApiError(reply, 502);
    terminal.resetBehaviour();
    await expectWorks(terminal);
    expect(terminal.isOnline).toBe(true);
  }, 60_000);

  it('waits for slow replies, each for its own caller', async () => {
    const delays = [100, 1_500, 700, 300, 1_100];
    const terminals = await Promise.all(delays.map(() => harness.startTerminal()));
    for (const [index, terminal] of terminals.entries()) {
      terminal.setBehaviour({ kind: 'slow', delayMs: delays[index] ?? 0 });
      terminal.setBehaviour({ kind: 'refusing', result: 3 }, 0x9101);
    }
    const replies = await Promise.all(terminals.flatMap((terminal) => [control(terminal), start(terminal)]));
    for (const [index, reply] of replies.entries())
      expect([reply.status, JSON.parse(reply.text)]).toEqual([
        200,
        index % 2 === 0 ? refusedPause : { response_id: '0x9101', result: 'unsupported' },
      ]);
  }, 60_000);
});

describe('non-conforming connections', () => {
  it('returns 504 for a terminal that disconnects before or within its reply, 200 after it, and accepts commands after it reconnects', async () => {
    const outcomes = [
      ['before', 504],
      ['midFrame', 504],
      ['after', 200],
    ] as const;
    const disconnects = async ([when, status]: (typeof outcomes)[number]): Promise<void> => {
      const terminal = await harness.startTerminal({ reconnect: quickReconnect, restartMs: 200 });
      terminal.setBehaviour({ kind: 'disconnecting', when });
      expect((await control(terminal)).status).toBe(status);
      terminal.resetBehaviour();
      await terminal.waitUntilOnline();
      await waitFor(async () => (await control(terminal)).status === 200, 'the device to accept commands');
      await expectWorks(terminal);
      // No command was resent.
      expect(terminal.receivedFrames(0x9102).filter((frame) => frame.connection === 1)).toHaveLength(1);
    };
    await Promise.all(outcomes.map(disconnects));
  }, 60_000);

  it('accepts a reply that arrives on the next connection', async () => {
    const terminal = await harness.startTerminal({ reconnect: quickReconnect });
    terminal.setBehaviour({ kind: 'slow', delayMs: 2_000 }, 0x9102);
    const pending = control(terminal);
    await terminal.waitForCommand(0x9102);
    terminal.dropConnection();
    const reply = await pending;
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, refusedPause]);
    expect(terminal.receivedFrames(0x9102)).toHaveLength(1);
    expect(terminal.sentFrames(0x0001).at(-1)?.connection).toBe(2);
  }, 60_000);

  it('replaces a half-open connection with the new one of the same terminal', async () => {
    const old = await harness.startTerminal({ reconnect: false });
    old.setBehaviour({ kind: 'halfOpen' });
    const { phone } = old;
    const fresh = await harness.startTerminal({ phone });
    await expectWorks(fresh);
    expect(fresh.receivedFrames(0x9102)).toHaveLength(1);
    expect(old.receivedFrames(0x9102)).toEqual([]);
    expect((await wake(fresh)).status).toBe(200);
    expect(fresh.isOnline).toBe(true);
  }, 60_000);

  it('keeps the newer of two connections with one number and closes the older one', async () => {
    const first = await harness.startTerminal({ reconnect: false });
    const second = await harness.startTerminal({ reconnect: false, phone: first.phone });
    await waitFor(() => !first.isOnline, 'the first connection to be closed');
    for (let times = 0; times < 5; times += 1) await expectWorks(second);
    expect(first.receivedFrames(0x9102)).toEqual([]);
    expect(second.receivedFrames(0x9102)).toHaveLength(5);
    // The long form of a number names the same terminal.
    const phone = second.phone.padStart(20, '0');
    const third = await harness.startTerminal({ reconnect: false, phone, edition: '2019' });
    await waitFor(() => !second.isOnline, 'the second connection to be closed');
    await expectWorks(third);
  }, 60_000);

  it('garbage of any kind closes neither the connection nor affects other terminals', async () => {
    const terminal = await harness.startTerminal({ reconnect: false });
    for (let times = 0; times < 50; times += 1) terminal.sendRaw(Buffer.alloc(2_000, times));
    terminal.sendRaw(Buffer.alloc(300_000, 0x7e));
    terminal.sendRaw(Buffer.alloc(300_000, 0x7d));
    terminal.sendRaw(Buffer.from([0x7e]));
    await expectWorks(terminal);
    await expectWorks(witness);
    expect(terminal.isOnline).toBe(true);
  }, 60_000);

  it('returns 504 for a terminal that never reads, without affecting others', async () => {
    const terminal = await harness.startTerminal({ reconnect: quickReconnect });
    terminal.setBehaviour({ kind: 'neverReading' });
    const replies = Promise.all(Array.from({ length: 10 }, (_unused, channel) => control(terminal, channel + 1)));
    for (let times = 0; times < 5; times += 1) await expectWorks(witness);
    for (const reply of await replies) expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
    terminal.resetBehaviour();
    await waitFor(async () => (await control(terminal)).status === 200, 'the device to accept commands');
  }, 60_000);
});

describe('sleeping terminals', () => {
  it('ignore everything but the wake-up of their edition, and work when they are awake', async () => {
    const editions = [
      ['2011', 0x8201],
      ['2013', 0x8201],
      ['2019', 0x8204],
    ] as const;
    const wakes = async ([edition, probe]: (typeof editions)[number]): Promise<void> => {
      const phone = uniquePhone(edition === '2019' ? 20 : 12);
      const terminal = await harness.startTerminal({ edition, phone });
      terminal.setBehaviour({ kind: 'sleeping', wakeAfterTries: 3 });
      const others = deviceCommands.filter(({ endpoint }) => endpoint !== '/wakeup');
      const ignored = others.map(({ request }) => api(request(phone)));
      await waitFor(
        () => others.every(({ messageId }) => terminal.receivedFrames(messageId).length > 0),
        'each command to arrive',
      );
      expect(parseReply(await wake(terminal))).toEqual([200, { result: 'success' }]);
      // A fourth may have been sent before the reply to the third arrived.
      expect(terminal.receivedFrames(probe).length).toBeGreaterThanOrEqual(3);
      // The woken terminal does not know the commands that it ignored.
      for (const reply of await Promise.all(ignored)) expectApiError(reply, 504);
      expect((await start(terminal)).status).toBe(200);
    };
    await Promise.all(editions.map(wakes));
  }, 60_000);

  it('ignore upload control as well', async () => {
    const idle = await IdleCamera.start(harness);
    const videoId = await requestUpload(api, idle.phone);
    const pause = (): Promise<HttpReply> => api(`/videos/control?video_id=${videoId}&action=0`);
    idle.terminal.setBehaviour({ kind: 'sleeping', wakeAfterTries: 1 });
    expect(expectApiError(await pause(), 504)).toBe('The device did not reply in time.');
    expect(idle.terminal.receivedFrames(0x9207)).toHaveLength(1);
    expect((await wake(idle)).status).toBe(200);
    expect(parseReply(await pause())).toMatchObject([200, { status: 'paused' }]);
  }, 60_000);

  it('return 200 if they wake late but in time', async () => {
    const wakeAfterMs = deviceReplyTimeoutMs / 2;
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'sleeping', wakeAfterMs });
    const startedAt = performance.now();
    expect(parseReply(await wake(terminal))).toEqual([200, { result: 'success' }]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(wakeAfterMs - 50);
    expect(terminal.receivedFrames(0x8201).length).toBeGreaterThan(1);
    await expectWorks(terminal);
  }, 60_000);

  it('return 504 if they stay asleep, and wake up for the next caller', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'sleeping', wakeAfterMs: deviceReplyTimeoutMs + 1_000 });
    expect(expectApiError(await wake(terminal), 504)).toBe('The device did not reply in time.');
    expect((await wake(terminal)).status).toBe(200);
    await expectWorks(terminal);
  }, 60_000);
});

describe('editions', () => {
  it.each([
    ['2011', 12],
    ['2013', 12],
    ['2019', 20],
  ] as const)(
    'a terminal of edition %s streams, is controlled and reconnects',
    async (edition, digits) => {
      const terminal = await harness.startTerminal({ edition, phone: uniquePhone(digits), reconnect: quickReconnect });
      expect((await wake(terminal)).status).toBe(200);
      expect(JSON.parse((await start(terminal)).text)).toEqual({ response_id: '0x9101', result: 'success' });
      const watch = `${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`;
      const viewer = new Viewer(watch);
      await waitFor(() => viewer.pictures.length > 3, 'pictures');
      viewer.leave();
      expect(JSON.parse((await control(terminal)).text)).toEqual({ response_id: '0x9102', result: 'success' });
      terminal.dropConnection();
      await waitFor(() => !terminal.isOnline, 'the terminal to be disconnected');
      await terminal.waitUntilOnline();
      await waitFor(async () => (await wake(terminal)).status === 200, 'the device to accept commands');
    },
    60_000,
  );

  it('each terminal gives its own replies when all editions are used concurrently', async () => {
    const terminals = await Promise.all([
      harness.startTerminal({ edition: '2011' }),
      harness.startTerminal({ edition: '2013' }),
      harness.startTerminal({ edition: '2019', phone: uniquePhone(20) }),
    ]);
    const results: Behaviour[] = [1, 2, 3].map((result) => ({ kind: 'refusing', result: result as 1 | 2 | 3 }));
    for (const [index, terminal] of terminals.entries()) terminal.setBehaviour(results[index] ?? { kind: 'normal' });
    const replies = await Promise.all(
      Array.from({ length: 10 }, (_unused, round) => terminals.map((terminal) => control(terminal, round + 1))).flat(),
    );
    const names = ['failure', 'incorrectInfo', 'unsupported'];
    expect(replies.map((reply) => (JSON.parse(reply.text) as { result: string }).result)).toEqual(
      replies.map((_reply, index) => names[index % 3]),
    );
  }, 60_000);
});
