import { randomBytes } from 'node:crypto';
import { deviceCommandSubject, findDevice, headerNames, headers, type Outcome, serve } from '@fleet/bus';
import { readDevice, readLastSeenMs } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway, startLive } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let caller: Caller;
let first: Gateway;
let second: Gateway;
const open: RawTerminal[] = [];
const track = (terminal: RawTerminal): RawTerminal => {
  open.push(terminal);
  return terminal;
};
const login = async (gateway: Gateway, phone: string): Promise<RawTerminal> =>
  track(await RawTerminal.login(gateway.jt808Port, phone));
const connect = async (gateway: Gateway, phone: string): Promise<RawTerminal> =>
  track(await RawTerminal.connect(gateway.jt808Port, phone, '2013'));
const findOwner = async (phone: string): Promise<string | undefined> =>
  (await readDevice(caller.redis, canonicalNumber(phone)))?.podId;

beforeAll(async () => {
  caller = await Caller.open();
  first = await startGateway();
  second = await startGateway();
});
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});
afterAll(async () => {
  await first.stop();
  await second.stop();
  await caller.close();
});

describe('reconnecting terminal', () => {
  it('replaces its older session on the same pod only after authentication', async () => {
    const phone = uniquePhone();
    const old = await login(first, phone);
    const stranger = await connect(first, phone);
    expect(await stranger.tryAuthenticate('not its code')).toBe(1);
    expect(await old.waitForResult(old.send(0x0002), 0x0002)).toBe(0);
    const young = await login(first, phone);
    await old.waitForClose();
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    young.sendGeneralResponse(await young.waitForFrame(0x9101));
    expect((await outcomePromise).kind).toBe('answered');
    expect(await findOwner(phone)).toBe(first.podId);
  });

  it('fences its older session on another pod', async () => {
    const phone = uniquePhone();
    const old = await login(first, phone);
    expect(await findOwner(phone)).toBe(first.podId);
    const young = await login(second, phone);
    await old.waitForClose();
    expect(await findOwner(phone)).toBe(second.podId);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    young.sendGeneralResponse(await young.waitForFrame(0x9101));
    expect(await outcomePromise).toMatchObject({ kind: 'answered' });
    expect(old.received.filter((frame) => frame.messageId === 0x9101)).toEqual([]);
  });

  it('fences a half-open connection on another pod that still sends', async () => {
    const phone = uniquePhone();
    const old = await login(first, phone);
    old.socket.pause();
    await login(second, phone);
    await waitFor(async () => (await findOwner(phone)) === second.podId, 'the second pod has the claim');
    old.send(0x0002);
    await waitFor(async () => (await countConnections(first)) === 0, 'the first pod has closed the connection');
    expect(await findOwner(phone)).toBe(second.podId);
  });

  it('responds on another pod to a command of the first: no second frame, one outcome', async () => {
    const phone = uniquePhone();
    const old = await login(first, phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await old.waitForFrame(0x9101);
    // The record is written before the frame, so the crash of a pod loses nothing.
    expect(await caller.redis.hLen(`device-commands:{${canonicalNumber(phone)}}`)).toBe(1);
    old.close();
    const young = await login(second, phone);
    young.sendGeneralResponse(frame);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { commandSerialNo: frame.serial } });
    expect(young.received.filter(({ messageId }) => messageId === 0x9101)).toEqual([]);
    await waitFor(
      async () => (await caller.redis.hLen(`device-commands:{${canonicalNumber(phone)}}`)) === 0,
      'the record is removed',
    );
  });

  it('continues its header serials', async () => {
    const phone = uniquePhone();
    const old = await login(first, phone);
    for (let i = 0; i < 5; i += 1) await old.waitForResult(old.send(0x0002), 0x0002);
    const reply = old.send(0x0002);
    const last = await old.waitForFrame(0x8001, (frame) => frame.body.readUInt16BE(0) === reply);
    old.close();
    await waitFor(
      async () => (await caller.redis.hGet(`registration:${canonicalNumber(phone)}`, 'exact')) === '1',
      'the exact serial is saved',
    );
    const young = await login(second, phone);
    const serial = young.send(0x0002);
    const next = await young.waitForFrame(
      0x8001,
      (frame) => frame.body.readUInt16BE(0) === serial && frame.body[3] === 2,
    );
    // One serial was used to respond to the authentication.
    expect((next.serial - last.serial) & 0xffff).toBe(2);
  });
});

describe('disconnected terminal', () => {
  it('leaves its last-seen time in Redis', async () => {
    const phone = uniquePhone();
    const terminal = await login(first, phone);
    const savedMs = (await readDevice(caller.redis, canonicalNumber(phone)))?.lastSeenMs ?? 0;
    await waitFor(() => Date.now() > savedMs, 'the clock has advanced');
    const sentAtMs = Date.now();
    expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
    terminal.close();
    await waitFor(
      async () => (await readDevice(caller.redis, canonicalNumber(phone))) === null,
      'the session has ended',
    );
    expect(await readLastSeenMs(caller.redis, canonicalNumber(phone))).toBeGreaterThanOrEqual(sentAtMs);
  });
});

async function countConnections(gateway: Gateway): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
  return Number(/^gateway_connections\{[^}]*\} (\d+)/m.exec(metrics)?.[1]);
}

const isNoResponders = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === '503';

describe('retried command', () => {
  async function retryCommand(phone: string, commandId: string): Promise<Outcome> {
    const head = headers();
    head.set(headerNames.commandId, commandId);
    head.set(headerNames.correlationId, 'test');
    head.set(headerNames.timeoutMs, '1000');
    head.set(headerNames.retry, '1');
    const data = new TextEncoder().encode(JSON.stringify(startLive));
    // The terminal may be logged in before the broker knows of the subscription. A request without responders can be
    // repeated.
    let reply: Uint8Array = new Uint8Array();
    await waitFor(async () => {
      try {
        const options = { timeout: 5_000, headers: head };
        reply = (await caller.bus.nc.request(deviceCommandSubject(canonicalNumber(phone)), data, options)).data;
        return true;
      } catch (error) {
        if (isNoResponders(error)) return false;
        throw error;
      }
    }, 'a responder exists');
    return JSON.parse(new TextDecoder().decode(reply)) as Outcome;
  }

  it('is sent once if no pod has written it; later retries return its outcome on any pod', async () => {
    const phone = uniquePhone();
    const terminal = await login(first, phone);
    const commandId = randomBytes(16).toString('hex');
    const outcomePromise = retryCommand(phone, commandId);
    const command = await terminal.waitForFrame(0x9101);
    terminal.sendGeneralResponse(command);
    const outcome = await outcomePromise;
    expect(outcome).toMatchObject({ kind: 'answered', answer: { result: 0, commandSerialNo: command.serial } });
    const moved = await login(second, phone);
    expect(await retryCommand(phone, commandId)).toEqual(outcome);
    await moved.waitForResult(moved.send(0x0002), 0x0002);
    expect([...terminal.received, ...moved.received].filter((frame) => frame.messageId === 0x9101)).toEqual([]);
  });

  it('waits for the response if a crashed pod has written it, otherwise times out', async () => {
    const phone = uniquePhone();
    const records = `device-commands:{${canonicalNumber(phone)}}`;
    const commandId = randomBytes(16).toString('hex');
    const record = { messageId: 0x9101, serials: [7], partSerials: [], deadlineAtMs: Date.now() + 60_000 };
    await caller.redis.hSet(records, commandId, JSON.stringify(record));
    const terminal = await login(first, phone);
    // The response arrives before the retry.
    terminal.send(0x0001, Buffer.from('0007910100', 'hex'));
    await terminal.waitForResult(terminal.send(0x0002), 0x0002);
    expect(await retryCommand(phone, commandId)).toMatchObject({ kind: 'answered', answer: { commandSerialNo: 7 } });
    const silent = randomBytes(16).toString('hex');
    await caller.redis.hSet(records, silent, JSON.stringify({ ...record, deadlineAtMs: Date.now() + 300 }));
    expect(await retryCommand(phone, silent)).toEqual({ kind: 'timedOut' });
    expect(terminal.received.filter((frame) => frame.messageId === 0x9101)).toEqual([]);
  });
});

describe('log-out', () => {
  it('ends the session and voids the code; a new registration returns another code', async () => {
    const phone = uniquePhone();
    const terminal = await connect(first, phone);
    const code = await terminal.register();
    await terminal.authenticate(code);
    expect(await terminal.waitForResult(terminal.send(0x0003), 0x0003)).toBe(0);
    await waitFor(async () => (await findOwner(phone)) === undefined, 'the claim is removed');
    expect(await caller.sendCommand(canonicalNumber(phone), startLive)).toEqual({ kind: 'notConnected' });
    expect(await terminal.waitForResult(terminal.send(0x0200, terminal.buildLocation()), 0x0200)).toBe(1);
    expect(await terminal.tryAuthenticate(code)).toBe(1);
    const again = await terminal.register();
    expect(again).not.toBe(code);
    expect(await terminal.tryAuthenticate(again)).toBe(0);
  });
});

describe('registration policy `known`', () => {
  it('admits known terminals, refuses others, and refuses all while platform-api is unavailable', async () => {
    const known = uniquePhone();
    const allowedImeis = new Set([canonicalNumber(known)]);
    const served = serve(caller.bus, findDevice, { queue: 'test', onError: () => undefined }, ({ imei }) =>
      Promise.resolve({ known: allowedImeis.has(imei), accountId: null, cameraUtcOffset: '+08:00' }),
    );
    const gateway = await startGateway({ REGISTRATION_POLICY: 'known' });
    try {
      const terminal = await connect(gateway, known);
      const code = await terminal.register();
      expect(await terminal.tryAuthenticate(code)).toBe(0);
      const unknown = await connect(gateway, uniquePhone());
      await expect(unknown.register()).rejects.toThrow('refused with 4');
      // The code is valid, as all pods share the secret, but the terminal is not known.
      const open = await connect(first, uniquePhone());
      const stranger = await connect(gateway, open.phone);
      expect(await stranger.tryAuthenticate(await open.register())).toBe(1);
      await served.stop();
      const late = await connect(gateway, uniquePhone());
      await expect(late.register()).rejects.toThrow('refused with 4');
    } finally {
      await served.stop();
      await gateway.stop();
    }
  });
});
