import { randomBytes } from 'node:crypto';
import { eventSubject } from '@fleet/bus';
import { decodeBody, platformRetransmitRequest } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';
import { TestServer } from './testing/test-server.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(120_000);

const open: RawTerminal[] = [];
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});

/** Dedicated broker with a gateway connected to it. */
class Setting {
  broker!: TestServer;
  gateway!: Gateway;
  caller!: Caller;

  async start(settings: string, env: Record<string, string> = {}): Promise<void> {
    this.broker = await TestServer.nats(settings);
    const url = `nats://127.0.0.1:${this.broker.port}`;
    this.gateway = await startGateway({ NATS_URL: url, ...env });
    this.caller = await Caller.open(url);
  }

  async stop(): Promise<void> {
    await this.caller.close();
    await this.gateway.stop();
    await this.broker.remove();
  }

  async login(): Promise<RawTerminal> {
    const terminal = await RawTerminal.login(this.gateway.jt808Port, uniquePhone(), '2013');
    open.push(terminal);
    return terminal;
  }

  /** Returns the pictures of a terminal that JetStream has stored. */
  async stored(terminal: RawTerminal): Promise<Buffer[]> {
    const manager = await this.caller.bus.jetstreamManager();
    const { state } = await manager.streams.info('EVENTS');
    const pictures: Buffer[] = [];
    for (let seq = Math.max(1, state.first_seq); seq <= state.last_seq; seq += 1) {
      const message = await manager.streams.getMessage('EVENTS', { seq });
      if (message.subject === eventSubject(canonicalNumber(terminal.phone), 0x0801))
        pictures.push(Buffer.from(message.data));
    }
    return pictures;
  }
}

const head = Buffer.from('0000002a0000000100000000', 'hex');
const picture = (sizeBytes: number): Buffer => Buffer.concat([head, randomBytes(sizeBytes - head.length)]);
const last = <T>(parts: readonly T[]): T => {
  const part = parts.at(-1);
  if (part === undefined) throw new Error('no parts');
  return part;
};

describe('large picture (0x0801)', () => {
  const setting = new Setting();
  beforeAll(() => setting.start('max_payload: 8MB'));
  afterAll(() => setting.stop());

  it('of 7.5 MB is stored whole with the production setting of the broker', async () => {
    const terminal = await setting.login();
    const body = picture(7_500_000);
    for (const part of terminal.buildParts(0x0801, body, 1_023)) terminal.socket.write(part.bytes);
    // On a machine that stalls for seconds, the gateway requests parts that are still in transit.
    const whole = await terminal.waitForFrame(0x8800, (frame) => frame.body.length === 4, 60_000);
    expect(whole.body.toString('hex')).toBe('0000002a');
    const [stored] = await setting.stored(terminal);
    expect(stored?.equals(body)).toBe(true);
  });

  it('above the reassembly limit is refused, and the terminal is served further', async () => {
    const terminal = await setting.login();
    const parts = terminal.buildParts(0x0801, picture(9_000_000), 1_023);
    for (const part of parts) terminal.socket.write(part.bytes);
    await terminal.waitForFrame(0x8001, ({ body }) => body.readUInt8(4) === 1, 60_000);
    const small = picture(2_000);
    for (const part of terminal.buildParts(0x0801, small, 800)) terminal.socket.write(part.bytes);
    await terminal.waitForFrame(0x8800, ({ body }) => body.length === 4, 60_000);
    expect(await setting.stored(terminal)).toEqual([small]);
  });
});

describe('broker with a limit of 1 MiB', () => {
  const setting = new Setting();
  beforeAll(() => setting.start(''));
  afterAll(() => setting.stop());

  it('refuses and counts a larger picture, and serves the terminal further', async () => {
    const terminal = await setting.login();
    const parts = terminal.buildParts(0x0801, picture(1_200_000), 1_023);
    for (const part of parts) terminal.socket.write(part.bytes);
    expect(await terminal.waitForResult(last(parts).serial, 0x0801, 60_000)).toBe(1);
    const metrics = await (await fetch(`http://127.0.0.1:${setting.gateway.adminPort}/metrics`)).text();
    expect(metrics).toMatch(/^gateway_messages_dropped_total\{[^}]*kind="tooLarge"[^}]*\} 1$/m);
    expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
    expect(await setting.stored(terminal)).toEqual([]);
  });
});

describe('broker with a limit of 64 KiB', () => {
  const setting = new Setting();
  beforeAll(() => setting.start('max_payload: 64KB'));
  afterAll(() => setting.stop());

  it.each([
    ['a larger picture', 0x0801, 1],
    ['more locations', 0x0704, 2],
  ])(
    'refuses %s a second time when all parts are resent, instead of treating them as stored',
    async (_what, id, result) => {
      const terminal = await setting.login();
      const parts = terminal.buildParts(id, picture(100_000), 1_000);
      for (const _time of ['once', 'again']) {
        for (const part of parts) terminal.socket.write(part.bytes);
        expect(await terminal.waitForResult(last(parts).serial, id, 60_000)).toBe(result);
      }
      expect(await setting.stored(terminal)).toEqual([]);
    },
  );
});

describe('broker outage', () => {
  const setting = new Setting();
  beforeAll(() => setting.start('', { STORE_BUFFER_BYTES: '65536' }));
  afterAll(() => setting.stop());

  it.each([
    ['a picture', 0x0801, picture(40_000)],
    ['locations', 0x0704, Buffer.alloc(20_000, 1)],
  ])(
    'the last part of %s is acknowledged only when the whole is stored, however often it is sent',
    async (_what, id, body) => {
      const terminal = await setting.login();
      const parts = terminal.buildParts(id, body, 1_000);
      await setting.broker.suspend(setting.caller.bus);
      try {
        for (const part of [...parts, last(parts)]) terminal.socket.write(part.bytes);
        // Frames are handled in order: whatever was not acknowledged before this one is waiting.
        expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
        const responses = terminal.received.filter(({ messageId }) => messageId === 0x8001);
        expect(responses.map((frame) => frame.body.readUInt16BE(0))).not.toContain(last(parts).serial);
      } finally {
        setting.broker.resume();
      }
      expect(await terminal.waitForResult(last(parts).serial, id, 60_000)).toBe(0);
      terminal.socket.write(last(parts).bytes);
      expect(await terminal.waitForResult(last(parts).serial, id, 60_000)).toBe(0);
      expect(await setting.stored(terminal)).toEqual(id === 0x0801 ? [body] : []);
    },
  );

  it('requests the parts again when the terminal resends a picture that could not be stored', async () => {
    const [terminal, other] = [await setting.login(), await setting.login()];
    const body = picture(40_000);
    const parts = terminal.buildParts(0x0801, body, 1_000);
    await setting.broker.suspend(setting.caller.bus);
    try {
      // Fills the buffer for messages that wait for the broker.
      for (const part of other.buildParts(0x0801, picture(40_000), 1_000)) other.socket.write(part.bytes);
      expect(await other.waitForResult(other.send(0x0002), 0x0002)).toBe(0);
      for (const part of parts) terminal.socket.write(part.bytes);
      expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
    } finally {
      setting.broker.resume();
    }
    await other.waitForFrame(0x8800, ({ body }) => body.length === 4, 60_000);
    terminal.socket.write(last(parts).bytes);
    const retransmitRequest = await terminal.waitForFrame(0x8003, () => true, 60_000);
    expect(decodeBody(platformRetransmitRequest, retransmitRequest.body, '2013')).toEqual({
      originalSerial: parts[0]?.serial,
      packageIds: parts.slice(0, -1).map((_part, index) => index + 1),
    });
    for (const part of parts.slice(0, -1)) terminal.socket.write(part.bytes);
    await terminal.waitForFrame(0x8800, ({ body }) => body.length === 4, 60_000);
    await waitFor(async () => (await setting.stored(terminal)).length === 1, 'the picture is stored');
    expect(await setting.stored(terminal)).toEqual([body]);
  });
});
