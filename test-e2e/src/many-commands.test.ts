import { LoadFleet, type PlatformMessage, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { leaseHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { type HttpReply, send } from './testing/http.ts';
import { readCounter } from './testing/metrics.ts';

let harness: ProductHarness;

beforeAll(async () => {
  harness = await leaseHarness();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = (path: string): Promise<HttpReply> => send(harness.product.runtime.base_url, `/api/v1${path}`);

const results = ['success', 'failure', 'incorrectInfo', 'unsupported'] as const;

/**
 * Returns the result that a terminal gives for a channel: no two commands of a terminal get the same, and neighbours
 * differ.
 */
const getResult = (terminalNo: number, channel: number): number => (terminalNo + channel) % results.length;

/** Holds the commands of many terminals until `release`, which replies to all together in another order. */
class HeldResponses {
  readonly #pending: (() => void)[] = [];

  get size(): number {
    return this.#pending.length;
  }

  /** For a terminal's `respond`: stores the command and returns no reply yet. */
  hold(respond: () => void): [] {
    this.#pending.push(respond);
    return [];
  }

  /** Replies to all commands, in an order that is unrelated to their arrival. */
  async releaseAll(): Promise<void> {
    const order = this.#pending.map((respond, index) => ({ answer: respond, rank: (index * 7919) % 211 }));
    for (const { answer: respond } of order.toSorted((one, other) => one.rank - other.rank)) {
      respond();
      // Sent one at a time, so that replies of different terminals arrive interleaved.
      await new Promise(setImmediate);
    }
  }
}

/** Creates the 0x0001 for a 0x9102, whose first byte is the channel. */
function createResponse(message: PlatformMessage, result: number): { messageId: number; body: Buffer } {
  const body = Buffer.alloc(5, result);
  body.writeUInt16BE(message.serial, 0);
  body.writeUInt16BE(message.messageId, 2);
  return { messageId: 0x0001, body };
}

describe('many commands in flight', () => {
  it('deliver 200 replies of 50 terminals to the right callers', async () => {
    const heldResponses = new HeldResponses();
    const terminals: SimulatedTerminal[] = await Promise.all(
      Array.from({ length: 50 }, async (_unused, terminalNo) => {
        const edition = (['2011', '2013', '2019'] as const)[terminalNo % 3];
        const phone = uniquePhone(edition === '2019' ? 20 : 12);
        const terminal: SimulatedTerminal = await harness.startTerminal({
          edition,
          phone,
          channels: 0,
          respond: (message) =>
            heldResponses.hold(
              () => void terminal.send(createResponse(message, getResult(terminalNo, message.body[0] ?? 0))),
            ),
        });
        return terminal;
      }),
    );
    const commands = terminals.flatMap(({ phone }, terminalNo) =>
      [1, 2, 3, 4].map((channel) => ({ phone, terminalNo, channel })),
    );
    const label = { kind: 'controlLive', outcome: 'answered' };
    const countResponded = () => readCounter(harness, 'jt808-gateway', 'gateway_commands_total', label);
    const countUnmatched = () => readCounter(harness, 'jt808-gateway', 'gateway_unmatched_responses_total');
    const [respondedBefore, unmatchedBefore] = [await countResponded(), await countUnmatched()];
    const pendingReplies = Promise.all(
      commands.map(({ phone, channel }) =>
        api(`/realtime/control-stream?imei=${phone}&channel=${channel}&ctrl_instruction=2`),
      ),
    );
    await waitFor(() => heldResponses.size === commands.length, 'all 200 at the terminals');
    await heldResponses.releaseAll();

    const replies = await pendingReplies;
    expect(replies.map((reply) => [reply.status, JSON.parse(reply.text) as unknown])).toEqual(
      commands.map(({ terminalNo, channel }) => [
        200,
        { response_id: '0x9102', result: results[getResult(terminalNo, channel)] },
      ]),
    );
    // Exactly one frame for each command, each with its own serial.
    for (const terminal of terminals) {
      const frames = terminal.receivedFrames(0x9102);
      expect(frames).toHaveLength(4);
      expect(new Set(frames.map((frame) => frame.body[0]))).toEqual(new Set([1, 2, 3, 4]));
      expect(new Set(frames.map((frame) => frame.serial)).size).toBe(4);
    }
    expect(await countResponded()).toBe(respondedBefore + 200);
    expect(await countUnmatched()).toBe(unmatchedBefore);
  }, 120_000);

  it('deliver 30 replies of one terminal that arrive in reverse order', async () => {
    const heldResponses = new HeldResponses();
    const backwards: (() => void)[] = [];
    const terminal: SimulatedTerminal = await harness.startTerminal({
      channels: 0,
      respond: (message) => {
        backwards.unshift(() => void terminal.send(createResponse(message, getResult(0, message.body[0] ?? 0))));
        return heldResponses.hold(() => backwards.shift()?.());
      },
    });
    const channels = Array.from({ length: 30 }, (_unused, index) => index + 1);
    const pendingReplies = Promise.all(
      channels.map((channel) =>
        api(`/realtime/control-stream?imei=${terminal.phone}&channel=${channel}&ctrl_instruction=3`),
      ),
    );
    await waitFor(() => heldResponses.size === channels.length, 'all 30 at the terminal');
    await heldResponses.releaseAll();
    expect((await pendingReplies).map((reply) => (JSON.parse(reply.text) as { result: string }).result)).toEqual(
      channels.map((channel) => results[getResult(0, channel)]),
    );
  }, 60_000);

  it('reach 100 light terminals 500 times with one frame and one reply each', async () => {
    const { host, port } = harness.product.runtime.jt808;
    const fleet = new LoadFleet({ host, port, terminals: 100, intervalMs: 600_000, firstPhone: uniquePhone() });
    fleet.start();
    try {
      await waitFor(() => fleet.counters.online === 100, 'the fleet to be online', 60_000);
      await waitFor(async () => {
        const replies = await Promise.all(fleet.phones.map((phone) => api(`/health/device?imei=${phone}`)));
        return replies.every((reply) => reply.status === 200);
      }, 'the last terminal to accept commands');
      const replies = await Promise.all(
        fleet.phones.flatMap((phone) =>
          [1, 2, 3, 4, 5].map((channel) =>
            api(`/realtime/control-stream?imei=${phone}&channel=${channel}&ctrl_instruction=2`),
          ),
        ),
      );
      for (const reply of replies)
        expect([reply.status, reply.text]).toEqual([200, '{"response_id":"0x9102","result":"success"}']);
      expect(fleet.counters.commandsResponded).toBe(500);
    } finally {
      await fleet.stop();
    }
  }, 120_000);
});
