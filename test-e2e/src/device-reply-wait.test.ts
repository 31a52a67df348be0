import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiRequest, createApiSender, deviceCommands } from './testing/device-api.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { expectApiError, type HttpReply } from './testing/http.ts';
import { IdleCamera, requestUpload } from './testing/idle-camera.ts';
import { readCounter } from './testing/metrics.ts';
import { waitFor } from './testing/wait-for.ts';

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

/** What a terminal answers at last to a command that it has kept for itself: 0x0001 with result 1, failure. */
function respondLate(terminal: SimulatedTerminal, messageId: number): void {
  const [command] = terminal.receivedFrames(messageId);
  if (command === undefined) throw new Error('no command came');
  const body = Buffer.alloc(5);
  body.writeUInt16BE(command.serial, 0);
  body.writeUInt16BE(messageId, 2);
  body[4] = 1;
  terminal.send({ messageId: 0x0001, body });
}

/** Has a silent camera asked to pause an upload, which has a wait of its own. */
async function expectShortWait(): Promise<void> {
  const idle = await IdleCamera.start(harness);
  const videoId = await requestUpload(api, idle.phone);
  idle.holdResponses();
  const { reply, seconds } = await measureReply(`/videos/control?video_id=${videoId}&action=0`);
  expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
  expect(seconds).toBeGreaterThanOrEqual(14.9);
  expect(seconds).toBeLessThan(25);
}

describe('the wait for a device, with the settings of a real start', () => {
  it('ends in 504 after 90 seconds, after 15 to control an upload, and the late answer reaches no later caller', async () => {
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
    const countStray = (): Promise<number> =>
      readCounter(harness, 'jt808-gateway', 'gateway_stray_answers_total', { reason: 'late' });
    const strayBefore = await countStray();

    const camera = `imei=${terminal.phone}&channel=1`;
    const shortWait = expectShortWait();
    const waits = await Promise.all([
      measureReply(`/wakeup?imei=${waking.phone}`),
      measureReply(`/realtime/start-stream?${camera}`),
      measureReply(`/realtime/control-stream?${camera}&ctrl_instruction=2`),
      // Every command there is, each to a terminal of its own.
      ...others.map(({ request, other }) => measureReply(request(other.phone))),
    ]);
    for (const { reply, seconds } of waits) {
      expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
      // Never before its time, and before the server's own limit of 95 s would have made a 503 of it.
      expect(seconds).toBeGreaterThanOrEqual(89);
      expect(seconds).toBeLessThan(95);
    }
    await shortWait;
    expect(terminal.receivedFrames(0x9101)).toHaveLength(1);
    expect(terminal.receivedFrames(0x9102)).toHaveLength(1);
    // A sleeping terminal is knocked at again and again.
    expect(waking.receivedFrames(0x8201).length).toBeGreaterThan(3);
    const once = others.filter(({ endpoint }) => endpoint !== '/wakeup');
    for (const { messageId, other } of once) expect(other.receivedFrames(messageId)).toHaveLength(1);
    expect((await api(`/realtime/stream.flv?${camera}`)).status).toBe(404);

    // The same product, terminal and connection: the next command gets its own answer, not the one that comes too late.
    terminal.setBehaviour({ kind: 'slow', delayMs: 700 });
    const next = measureReply(`/realtime/start-stream?${camera}`);
    await waitFor('the next command', () => terminal.receivedFrames(0x9101).length === 2);
    respondLate(terminal, 0x9101);
    respondLate(terminal, 0x9102);
    await waitFor('the late answers to be counted', async () => (await countStray()) === strayBefore + 2);
    const { reply } = await next;
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { response_id: '0x9101', result: 'success' }]);
    waking.resetBehaviour();
    expect((await measureReply(`/wakeup?imei=${waking.phone}`)).reply.status).toBe(200);
  }, 150_000);
});
