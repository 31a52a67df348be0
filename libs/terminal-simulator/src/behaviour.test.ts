import { encodeFrame, FrameSplitter, linkDetection, queryLocation, queryParameters, textMessage } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Behaviour, BehaviourTable, corruptChecksum, corruptFrame, Sleep } from './behaviour.ts';
import { SimulatedTerminal } from './terminal.ts';
import type { TerminalOptions } from './terminal-options.ts';
import { TestPlatform } from './testing/test-platform.ts';

const terminalPhone = '00000000013800138003';
const textBody = { flags: 4, textType: 1, text: 'hello' };
let platform: TestPlatform;
let terminal: SimulatedTerminal;

beforeEach(async () => {
  platform = await new TestPlatform('2019').listen();
});

afterEach(async () => {
  await terminal.stop();
  await platform.close();
});

async function startOnline(options: Partial<TerminalOptions> = {}): Promise<void> {
  terminal = new SimulatedTerminal({
    host: '127.0.0.1',
    port: platform.port,
    phone: terminalPhone,
    reportIntervalMs: 0,
    reconnect: { minMs: 10, maxMs: 50 },
    restartMs: 10,
    ...options,
  });
  terminal.start();
  await terminal.waitUntilOnline();
}

async function startWithBehaviour(behaviour: Behaviour): Promise<number> {
  await startOnline();
  terminal.setBehaviour(behaviour);
  return platform.sendCommand(terminalPhone, textMessage, textBody);
}

/**
 * Sends a later message and waits for its response. By then, the terminal would have responded to the earlier one too.
 */
async function waitForFence(): Promise<void> {
  const from = platform.received.length;
  terminal.resetBehaviour();
  platform.sendCommand(terminalPhone, queryParameters, {});
  await platform.waitForFrame(0x0104, from);
}

const parseReplies = (): { serial: number; id: number; result: number | undefined }[] =>
  platform
    .framesWithId(0x0001)
    .map(({ body }) => ({ serial: body.readUInt16BE(0), id: body.readUInt16BE(2), result: body[4] }));

describe('behaviours', () => {
  it('silent: sends no response', async () => {
    await startWithBehaviour({ kind: 'silent' });
    await terminal.waitForCommand(0x8300);
    await waitForFence();
    expect(parseReplies()).toEqual([]);
  });

  it.each([1, 2, 3] as const)('refusing: responds with result %i', async (result) => {
    const serial = await startWithBehaviour({ kind: 'refusing', result });
    await platform.waitForFrame(0x0001);
    expect(parseReplies()).toEqual([{ serial, id: 0x8300, result }]);
  });

  it('slow: responds after the delay', async () => {
    const startedAt = performance.now();
    await startWithBehaviour({ kind: 'slow', delayMs: 150 });
    await platform.waitForFrame(0x0001);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(145);
  });

  it('twice: sends the same response again', async () => {
    const serial = await startWithBehaviour({ kind: 'twice', gapMs: 5 });
    await waitFor(() => parseReplies().length === 2, 'two responses');
    expect(parseReplies()).toEqual([
      { serial, id: 0x8300, result: 0 },
      { serial, id: 0x8300, result: 0 },
    ]);
  });

  it('wrongSerial: responds with another serial', async () => {
    const serial = await startWithBehaviour({ kind: 'wrongSerial' });
    await platform.waitForFrame(0x0001);
    expect(parseReplies()).toEqual([{ serial: serial + 1000, id: 0x8300, result: 0 }]);
  });

  it.each([
    ['badChecksum', 1],
    ['noise', 0],
    ['halfGlued', 1],
  ] as const)('garbage %s: sends no readable response', async (form, dropped) => {
    await startWithBehaviour({ kind: 'garbage', form });
    await terminal.waitForCommand(0x8300);
    await waitForFence();
    expect(parseReplies()).toEqual([]);
    expect(platform.openConnections).toBe(1);
    expect(platform.splitters[0]?.droppedTotal).toBeGreaterThanOrEqual(dropped);
  });

  it('garbage cutBody: sends a valid frame whose body is too short', async () => {
    await startWithBehaviour({ kind: 'garbage', form: 'cutBody' });
    const frame = await platform.waitForFrame(0x0001);
    expect(frame.body).toHaveLength(2);
  });

  it.each([
    ['before', 0],
    ['after', 1],
    ['midFrame', 0],
  ] as const)('disconnecting %s the response: drops the connection and reconnects', async (when, responses) => {
    await startWithBehaviour({ kind: 'disconnecting', when });
    await waitFor(() => platform.connections === 2, 'second connection');
    await terminal.waitUntilOnline();
    expect(parseReplies()).toHaveLength(responses);
  });

  it('applies to one message id only if an id is given', async () => {
    await startOnline();
    terminal.setBehaviour({ kind: 'silent' }, 0x8300);
    platform.sendCommand(terminalPhone, textMessage, textBody);
    const probe = platform.sendCommand(terminalPhone, linkDetection, {});
    await platform.waitForFrame(0x0001);
    expect(parseReplies()).toEqual([{ serial: probe, id: 0x8204, result: 0 }]);
    terminal.resetBehaviour(0x8300);
    platform.sendCommand(terminalPhone, textMessage, textBody);
    await waitFor(() => parseReplies().length === 2, 'response');
  });

  it('neverReading: reads nothing from the socket until the behaviour is reset', async () => {
    await startWithBehaviour({ kind: 'neverReading' });
    expect(terminal.receivedFrames(0x8300)).toEqual([]);
    await waitForFence();
    expect(terminal.receivedFrames(0x8300)).toHaveLength(1);
    expect(parseReplies()).toHaveLength(1);
  });

  it('halfOpen: stops using the dead connection and reconnects after the reset', async () => {
    await startWithBehaviour({ kind: 'halfOpen' });
    const report = terminal.report();
    expect(report.sends).toEqual([]);
    expect(platform.openConnections).toBe(1);
    terminal.resetBehaviour();
    await waitFor(() => platform.connections === 2, 'second connection');
    await waitFor(() => report.acknowledgedAtMs !== null, 'the report');
    expect(platform.framesWithId(0x0200)).toEqual([]);
  });

  it('sleeping: wakes at the third attempt and responds to it', async () => {
    await startWithBehaviour({ kind: 'sleeping', wakeAfterTries: 3 });
    const wakeResults = [1, 2, 3].map(() => platform.sendCommand(terminalPhone, queryLocation, {}));
    const response = await platform.waitForFrame(0x0201);
    expect(response.body.readUInt16BE(0)).toBe(wakeResults[2]);
    platform.sendCommand(terminalPhone, textMessage, textBody);
    await platform.waitForFrame(0x0001);
    expect(parseReplies()).toHaveLength(1);
    expect(terminal.behaviours.general).toEqual({ kind: 'normal' });
  });
});

describe('terminal that wakes after a delay', () => {
  it('ignores messages until the delay has passed, and loses those received before', async () => {
    await startWithBehaviour({ kind: 'sleeping', wakeAfterMs: 100 });
    platform.sendCommand(terminalPhone, queryLocation, {});
    await waitFor(() => terminal.behaviours.general.kind === 'normal', 'awake');
    const serial = platform.sendCommand(terminalPhone, textMessage, textBody);
    await platform.waitForFrame(0x0001);
    expect(parseReplies()).toEqual([{ serial, id: 0x8300, result: 0 }]);
    expect(platform.framesWithId(0x0201)).toEqual([]);
  });

  it('responds to earlier messages if its modem queues them', async () => {
    await startWithBehaviour({ kind: 'sleeping', wakeAfterMs: 100, catchesUp: true });
    const serial = platform.sendCommand(terminalPhone, queryLocation, {});
    const response = await platform.waitForFrame(0x0201);
    expect(response.body.readUInt16BE(0)).toBe(serial);
    expect(terminal.vehicle.isAsleep).toBe(false);
  });
});

describe('terminal in deep sleep', () => {
  it('is offline until an SMS arrives', async () => {
    await startOnline();
    terminal.hibernate();
    await waitFor(() => platform.openConnections === 0, 'gone');
    expect(terminal.state).toBe('asleep');
    terminal.receiveSms('WAKEUP#');
    await terminal.waitUntilOnline();
    expect(platform.connections).toBe(2);
    expect(terminal.shortMessages.map((sms) => sms.text)).toEqual(['WAKEUP#']);
  });

  it('can start in deep sleep, and connects some time after the SMS', async () => {
    terminal = new SimulatedTerminal({
      host: '127.0.0.1',
      port: platform.port,
      phone: terminalPhone,
      reportIntervalMs: 0,
    });
    terminal.hibernate();
    terminal.receiveSms('WAKEUP#', { connectAfterMs: 50 });
    expect(terminal.state).toBe('asleep');
    expect(platform.connections).toBe(0);
    await terminal.waitUntilOnline();
    expect(platform.connections).toBe(1);
  });

  it('wakes on an SMS even if it sleeps with an open connection', async () => {
    await startOnline();
    terminal.setBehaviour({ kind: 'sleeping' });
    terminal.receiveSms('WAKEUP#');
    await waitFor(() => terminal.behaviours.general.kind === 'normal', 'awake');
    expect(platform.connections).toBe(1);
  });
});

describe('respond hook', () => {
  it('replaces the response, or leaves a message to the normal handlers', async () => {
    const own = { messageId: 0x0001, body: Buffer.from('0102030405', 'hex') };
    await startOnline({ respond: ({ messageId }) => (messageId === 0x8300 ? [own] : undefined) });
    platform.sendCommand(terminalPhone, textMessage, textBody);
    platform.sendCommand(terminalPhone, linkDetection, {});
    await waitFor(() => parseReplies().length === 2, 'two responses');
    expect(parseReplies()[0]).toEqual({ serial: 0x0102, id: 0x0304, result: 5 });
  });
});

describe('Sleep', () => {
  it('counts only waking messages', () => {
    const sleep = new Sleep({ wakeAfterTries: 3 });
    const knocks = [0x8300, 0x8204, 0x8300, 0x8201, 0x8201].map((messageId) => sleep.tryWake(messageId));
    expect(knocks).toEqual(['asleep', 'firstTry', 'asleep', 'asleep', 'awake']);
  });

  it('ignores the number of attempts if a wake time is set', () => {
    const sleep = new Sleep({ wakeAfterMs: 1000 });
    expect(Array.from({ length: 10 }, () => sleep.tryWake(0x8201)).includes('awake')).toBe(false);
  });
});

describe('BehaviourTable', () => {
  it('rejects a behaviour of the whole terminal for a single message', () => {
    expect(() => new BehaviourTable().set({ kind: 'halfOpen' }, 0x8300)).toThrow(/whole terminal/);
  });
});

describe('corrupted frames', () => {
  it('never pass as valid frames, whatever the check byte', () => {
    const splitter = new FrameSplitter();
    for (let serial = 0; serial < 2000; serial += 1) {
      const frame = encodeFrame({ messageId: 2, phone: '013800138001', serial });
      splitter.push(corruptChecksum(frame), () => {
        throw new Error(`serial ${serial} passed`);
      });
    }
    expect(splitter.dropped.badChecksum).toBe(2000);
  });

  it('halfGlued loses only the half frame', () => {
    const frame = encodeFrame({ messageId: 0x0001, phone: '013800138001', serial: 1, body: Buffer.alloc(5) });
    const other = encodeFrame({ messageId: 0x0002, phone: '013800138001', serial: 2 });
    const ids: number[] = [];
    new FrameSplitter().push(corruptFrame('halfGlued', frame, other), ({ messageId }) => ids.push(messageId));
    expect(ids).toEqual([0x0002]);
  });
});
