import { LightFleet, type PlatformMessage, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type HttpReply, send } from './testing/http.ts';
import { counter } from './testing/metrics.ts';
import { until } from './testing/until.ts';
import { borrowWorld, newPhone, type World } from './testing/world.ts';

let world: World;

beforeAll(async () => {
  world = await borrowWorld();
}, 180_000);

afterAll(() => world.stop(), 60_000);

const api = (path: string): Promise<HttpReply> => send(world.product.runtime.base_url, `/api/v1${path}`);

const results = ['success', 'failure', 'incorrectInfo', 'unsupported'] as const;

/** Which result a terminal gives for a channel: no two commands of a terminal get the same, and no two neighbours agree. */
const resultFor = (terminalNo: number, channel: number): number => (terminalNo + channel) % results.length;

/** Keeps the commands of many terminals until they are let go, all at once and in another order. */
class Holding {
  readonly #kept: (() => void)[] = [];

  get size(): number {
    return this.#kept.length;
  }

  /** For a terminal's `respond`: it says nothing for now. */
  keep(answer: () => void): [] {
    this.#kept.push(answer);
    return [];
  }

  /** Answers all, in an order that has nothing to do with the one in which they came. */
  async letGo(): Promise<void> {
    const order = this.#kept.map((answer, index) => ({ answer, rank: (index * 7919) % 211 }));
    for (const { answer } of order.toSorted((one, other) => one.rank - other.rank)) {
      answer();
      // One at a time, so that answers of different terminals really arrive mixed.
      await new Promise(setImmediate);
    }
  }
}

/** 0x0001 for a 0x9102, whose first byte is the channel. */
function answerTo(message: PlatformMessage, result: number): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(5, result);
  body.writeUInt16BE(message.serial, 0);
  body.writeUInt16BE(message.messageId, 2);
  return { messageId: 0x0001, body };
}

describe('many commands in flight', () => {
  it('200 to 50 terminals at once: each caller gets the answer to his own command', async () => {
    const held = new Holding();
    const terminals: SimulatedTerminal[] = await Promise.all(
      Array.from({ length: 50 }, async (_unused, terminalNo) => {
        const edition = (['2011', '2013', '2019'] as const)[terminalNo % 3];
        const phone = newPhone(edition === '2019' ? 20 : 12);
        const terminal: SimulatedTerminal = await world.terminal({
          edition,
          phone,
          channels: 0,
          respond: (message) =>
            held.keep(() => void terminal.send(answerTo(message, resultFor(terminalNo, message.body[0] ?? 0)))),
        });
        return terminal;
      }),
    );
    const commands = terminals.flatMap(({ phone }, terminalNo) =>
      [1, 2, 3, 4].map((channel) => ({ phone, terminalNo, channel })),
    );
    const label = { kind: 'controlLive', outcome: 'answered' };
    const answered = () => counter(world, 'jt808-gateway', 'gateway_commands_total', label);
    const stray = () => counter(world, 'jt808-gateway', 'gateway_stray_answers_total');
    const [answeredBefore, strayBefore] = [await answered(), await stray()];
    const asked = Promise.all(
      commands.map(({ phone, channel }) =>
        api(`/realtime/control-stream?imei=${phone}&channel=${channel}&ctrl_instruction=2`),
      ),
    );
    await until('all 200 at the terminals', () => held.size === commands.length, 30_000);
    await held.letGo();

    const replies = await asked;
    expect(replies.map((reply) => [reply.status, JSON.parse(reply.text) as unknown])).toEqual(
      commands.map(({ terminalNo, channel }) => [
        200,
        { response_id: '0x9102', result: results[resultFor(terminalNo, channel)] },
      ]),
    );
    // Exactly one frame for each command, with a serial of its own.
    for (const terminal of terminals) {
      const frames = terminal.received(0x9102);
      expect(frames).toHaveLength(4);
      expect(new Set(frames.map((frame) => frame.body[0]))).toEqual(new Set([1, 2, 3, 4]));
      expect(new Set(frames.map((frame) => frame.serial)).size).toBe(4);
    }
    expect(await answered()).toBe(answeredBefore + 200);
    expect(await stray()).toBe(strayBefore);
  }, 120_000);

  it('30 to one terminal, answered backwards', async () => {
    const held = new Holding();
    const backwards: (() => void)[] = [];
    const terminal: SimulatedTerminal = await world.terminal({
      channels: 0,
      respond: (message) => {
        backwards.unshift(() => void terminal.send(answerTo(message, resultFor(0, message.body[0] ?? 0))));
        return held.keep(() => backwards.shift()?.());
      },
    });
    const channels = Array.from({ length: 30 }, (_unused, index) => index + 1);
    const asked = Promise.all(
      channels.map((channel) =>
        api(`/realtime/control-stream?imei=${terminal.phone}&channel=${channel}&ctrl_instruction=3`),
      ),
    );
    await until('all 30 at the terminal', () => held.size === channels.length);
    await held.letGo();
    expect((await asked).map((reply) => (JSON.parse(reply.text) as { result: string }).result)).toEqual(
      channels.map((channel) => results[resultFor(0, channel)]),
    );
  }, 60_000);

  it('500 to 100 light terminals: one frame and one answer each', async () => {
    const { host, port } = world.product.runtime.jt808;
    const fleet = new LightFleet({ host, port, terminals: 100, intervalMs: 600_000, firstPhone: newPhone() });
    fleet.start();
    try {
      await until('the fleet to be online', () => fleet.counters.online === 100, 60_000);
      await until('the last to take commands', async () => {
        const answers = await Promise.all(fleet.phones.map((phone) => api(`/health/device?imei=${phone}`)));
        return answers.every((reply) => reply.status === 200);
      });
      const replies = await Promise.all(
        fleet.phones.flatMap((phone) =>
          [1, 2, 3, 4, 5].map((channel) =>
            api(`/realtime/control-stream?imei=${phone}&channel=${channel}&ctrl_instruction=2`),
          ),
        ),
      );
      for (const reply of replies)
        expect([reply.status, reply.text]).toEqual([200, '{"response_id":"0x9102","result":"success"}']);
      expect(fleet.counters.commandsAnswered).toBe(500);
    } finally {
      await fleet.stop();
    }
  }, 120_000);
});
