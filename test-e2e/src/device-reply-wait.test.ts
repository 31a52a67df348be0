import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ApiRequest, apiOf, deviceCommands } from './testing/device-api.ts';
import { expectApiError, type HttpReply } from './testing/http.ts';
import { IdleCamera, requestUpload } from './testing/idle-camera.ts';
import { counter } from './testing/metrics.ts';
import { until } from './testing/until.ts';
import { borrowWorld, type World } from './testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await borrowWorld();
}, 180_000);

afterAll(() => world.stop(), 60_000);

interface Timed {
  readonly reply: HttpReply;
  readonly seconds: number;
}

const api = apiOf(() => world);

async function timed(request: string | ApiRequest): Promise<Timed> {
  const startedAt = performance.now();
  const reply = await api(request);
  return { reply, seconds: (performance.now() - startedAt) / 1000 };
}

/** What a terminal answers at last to a command that it has kept for itself: 0x0001 with result 1, failure. */
function answerLate(terminal: SimulatedTerminal, messageId: number): void {
  const [command] = terminal.received(messageId);
  if (command === undefined) throw new Error('no command came');
  const body = Buffer.alloc(5);
  body.writeUInt16BE(command.serial, 0);
  body.writeUInt16BE(messageId, 2);
  body[4] = 1;
  terminal.send({ messageId: 0x0001, body });
}

/** Has a silent camera asked to pause an upload, which has a wait of its own. */
async function expectShortWait(): Promise<void> {
  const idle = await IdleCamera.start(world);
  const videoId = await requestUpload(api, idle.phone);
  idle.hold();
  const { reply, seconds } = await timed(`/videos/control?video_id=${videoId}&action=0`);
  expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
  expect(seconds).toBeGreaterThanOrEqual(14.9);
  expect(seconds).toBeLessThan(25);
}

describe('the wait for a device, with the settings of a real start', () => {
  it('ends in 504 after 90 seconds, after 15 to control an upload, and the late answer reaches no later caller', async () => {
    const terminal = await world.terminal();
    const waking = await world.terminal();
    terminal.behave({ kind: 'silent' });
    waking.behave({ kind: 'silent' });
    const others = await Promise.all(
      deviceCommands.map(async (command) => {
        const other = await world.terminal();
        other.behave({ kind: 'silent' });
        return { ...command, other };
      }),
    );
    const stray = (): Promise<number> =>
      counter(world, 'jt808-gateway', 'gateway_stray_answers_total', { reason: 'late' });
    const strayBefore = await stray();

    const camera = `imei=${terminal.phone}&channel=1`;
    const shortWait = expectShortWait();
    const waits = await Promise.all([
      timed(`/wakeup?imei=${waking.phone}`),
      timed(`/realtime/start-stream?${camera}`),
      timed(`/realtime/control-stream?${camera}&ctrl_instruction=2`),
      // Every command there is, each to a terminal of its own.
      ...others.map(({ request, other }) => timed(request(other.phone))),
    ]);
    for (const { reply, seconds } of waits) {
      expect(expectApiError(reply, 504)).toBe('The device did not reply in time.');
      // Never before its time, and before the server's own limit of 95 s would have made a 503 of it.
      expect(seconds).toBeGreaterThanOrEqual(89);
      expect(seconds).toBeLessThan(95);
    }
    await shortWait;
    expect(terminal.received(0x9101)).toHaveLength(1);
    expect(terminal.received(0x9102)).toHaveLength(1);
    // A sleeping terminal is knocked at again and again.
    expect(waking.received(0x8201).length).toBeGreaterThan(3);
    const once = others.filter(({ endpoint }) => endpoint !== '/wakeup');
    for (const { messageId, other } of once) expect(other.received(messageId)).toHaveLength(1);
    expect((await api(`/realtime/stream.flv?${camera}`)).status).toBe(404);

    // The same product, terminal and connection: the next command gets its own answer, not the one that comes too late.
    terminal.behave({ kind: 'slow', delayMs: 700 });
    const next = timed(`/realtime/start-stream?${camera}`);
    await until('the next command', () => terminal.received(0x9101).length === 2);
    answerLate(terminal, 0x9101);
    answerLate(terminal, 0x9102);
    await until('the late answers to be counted', async () => (await stray()) === strayBefore + 2);
    const { reply } = await next;
    expect([reply.status, JSON.parse(reply.text)]).toEqual([200, { response_id: '0x9101', result: 'success' }]);
    waking.behaveWell();
    expect((await timed(`/wakeup?imei=${waking.phone}`)).reply.status).toBe(200);
  }, 150_000);
});
