import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiRequest, createApiSender, deviceCommands } from './testing/device-api.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { expectApiError, type HttpReply } from './testing/http.ts';
import { IdleCamera, requestUpload } from './testing/idle-camera.ts';
import { readCounter } from './testing/metrics.ts';

let harness: ProductHarness;

beforeAll(async () => {
  harness = await leaseHarness();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

interface Timed {
  readonly reply: HttpReply;
  readonly seconds: number;
}

const api = createApiSender(() => harness);

async function measureReply(request: string | ApiRequest): Promise<Timed> {
  const startedAt = performance.now();
  const reply = await api(request);
  return { reply, seconds: (performance.now() - startedAt) / 1000 };
}

/** Sends the late reply to a command that the terminal held back: 0x0001 with result 1, failure. */
function respondLate(terminal: SimulatedTerminal, messageId: number): void {
  const [command] = terminal.receivedFrames(messageId);
  if (command === undefined) throw new Error('no command received');
  const body = Buffer.alloc(5);
  body.writeUInt16BE(command.serial, 0);
  body.writeUInt16BE(messageId, 2);
  body[4] = 1;
  terminal.send({ messageId: 0x0001, body });
}

/** Requests the pause of an upload from a silent camera. This request has its own timeout. */
async function expectShortWait(): Promise<void> {
  const idle = await IdleCamera.start(harness);
  const videoId = await requestUpload(api, idle.phone);
  idle.holdResponses();
  const { reply, seconds } = await measureReply(`/videos/control?video_id=${videoId}&action=0`);
  expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
  expect(seconds).toBeGreaterThanOrEqual(14.9);
  expect(seconds).toBeLessThan(25);
}

describe('the device reply timeout with the settings of a real start', () => {
  it('returns 504 after 90 s, or after 15 s for upload control, and delivers the late reply to no other caller', async () => {
    const terminal = await harness.startTerminal();
    const waking = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'silent' });
    waking.setBehaviour({ kind: 'silent' });
    const others = await Promise.all(
      deviceCommands.map(async (command) => {
        const other = await harness.startTerminal();
        other.setBehaviour({ kind: 'silent' });
        return { ...command, other };
      }),
    );
    const countUnmatched = (): Promise<number> =>
      readCounter(harness, 'jt808-gateway', 'gateway_unmatched_responses_total', { reason: 'late' });
    const unmatchedBefore = await countUnmatched();
    const countTimedOut = async (): Promise<number> => {
      const count = (kind: string): Promise<number> =>
        readCounter(harness, 'jt808-gateway', 'gateway_commands_total', { kind, outcome: 'timedOut' });
      return (await count('startLive')) + (await count('controlLive'));
    };
    const timedOutBefore = await countTimedOut();

    const camera = `imei=${terminal.phone}&channel=1`;
    const shortWait = expectShortWait();
    const waits = await Promise.all([
      measureReply(`/wakeup?imei=${waking.phone}`),
      measureReply(`/realtime/start-stream?${camera}`),
      measureReply(`/realtime/control-stream?${camera}&ctrl_instruction=2`),
      // Every command, each to its own terminal.
      ...others.map(({ request, other }) => measureReply(request(other.phone))),
    ]);
    for (const { reply, seconds } of waits) {
      expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
      // Not before the timeout, and before the server's own limit of 95 s, which would return 503.
      expect(seconds).toBeGreaterThanOrEqual(89);
      expect(seconds).toBeLessThan(95);
    }
    await shortWait;
    expect(terminal.receivedFrames(0x9101)).toHaveLength(1);
    expect(terminal.receivedFrames(0x9102)).toHaveLength(1);
    // Wake-ups are repeated while the terminal sleeps.
    expect(waking.receivedFrames(0x8201).length).toBeGreaterThan(3);
    const once = others.filter(({ endpoint }) => endpoint !== '/wakeup');
    for (const { messageId, other } of once) expect(other.receivedFrames(messageId)).toHaveLength(1);
    expect((await api(`/realtime/stream.flv?${camera}`)).status).toBe(404);

    // The gateway starts its timers after the callers, so these commands of two terminals may still be pending there.
    await waitFor(async () => (await countTimedOut()) === timedOutBefore + 4, 'the gateway to end the commands');
    // Same product, terminal and connection: the next command gets its own reply instead of the late one.
    terminal.setBehaviour({ kind: 'slow', delayMs: 700 });
    const next = measureReply(`/realtime/start-stream?${camera}`);
    await waitFor(() => terminal.receivedFrames(0x9101).length === 2, 'the next command');
    respondLate(terminal, 0x9101);
    respondLate(terminal, 0x9102);
    await waitFor(async () => (await countUnmatched()) === unmatchedBefore + 2, 'the late replies to be counted');
    const { reply } = await next;
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { response_id: '0x9101', result: 'success' }]);
    waking.resetBehaviour();
    expect((await measureReply(`/wakeup?imei=${waking.phone}`)).reply.status).toBe(200);
  }, 150_000);
});
