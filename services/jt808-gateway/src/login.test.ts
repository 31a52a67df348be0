import type { Edition } from '@fleet/jt808';
import { readDevice } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway, startLive } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let gateway: Gateway;
let caller: Caller;
const open: RawTerminal[] = [];
const connect = async (phone: string, edition: Edition): Promise<RawTerminal> => {
  const terminal = await RawTerminal.connect(gateway.jt808Port, phone, edition);
  open.push(terminal);
  return terminal;
};
const login = async (phone: string, edition: Edition = '2013'): Promise<RawTerminal> => {
  const terminal = await RawTerminal.login(gateway.jt808Port, phone, edition);
  open.push(terminal);
  return terminal;
};

beforeAll(async () => {
  gateway = await startGateway();
  caller = await Caller.open();
});
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});
afterAll(async () => {
  await caller.close();
  await gateway.stop();
});

describe.each(['2011', '2013', '2019'] as const)('%s terminal', (edition) => {
  it('registers, receives the same code each time, authenticates and is claimed in Redis', async () => {
    const phone = uniquePhone(edition);
    const terminal = await connect(phone, edition);
    const code = await terminal.register();
    expect(await terminal.register()).toBe(code);
    expect(await terminal.tryAuthenticate(code)).toBe(0);
    const state = await readDevice(caller.redis, canonicalNumber(phone));
    expect(state).toMatchObject({ podId: gateway.podId, phone, edition, remoteAddress: '127.0.0.1' });
  });

  it('is refused with a wrong code, then accepted with the right one', async () => {
    const terminal = await connect(uniquePhone(edition), edition);
    const code = await terminal.register();
    expect(await terminal.tryAuthenticate(`${code}0`)).toBe(1);
    expect(await terminal.tryAuthenticate(code)).toBe(0);
  });

  it('reconnects with its code, without registration', async () => {
    const phone = uniquePhone(edition);
    const first = await connect(phone, edition);
    const code = await first.register();
    first.close();
    const second = await connect(phone, edition);
    expect(await second.tryAuthenticate(code)).toBe(0);
    await waitFor(
      async () => (await readDevice(caller.redis, canonicalNumber(phone)))?.edition === edition,
      'the edition is in Redis',
    );
  });

  it('receives a live request in its own digits and header and responds to it', async () => {
    const phone = uniquePhone(edition);
    const terminal = await login(phone, edition);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await terminal.waitForFrame(0x9101);
    expect(frame.phone).toBe(phone);
    expect(frame.header).toBe(edition === '2019' ? '2019' : '2013');
    terminal.sendGeneralResponse(frame);
    expect(await outcomePromise).toEqual({
      kind: 'answered',
      answer: { commandMessageId: 0x9101, commandSerialNo: frame.serial, result: 0, message: null },
    });
  });
});

describe('unregistered terminal', () => {
  let accepting: Gateway;
  beforeAll(async () => {
    accepting = await startGateway({ UNREGISTERED_TERMINALS: 'accept' });
  });
  afterAll(() => accepting.stop());
  const connectTo = async (phone: string, edition: Edition = '2013'): Promise<RawTerminal> => {
    const terminal = await RawTerminal.connect(accepting.jt808Port, phone, edition);
    open.push(terminal);
    return terminal;
  };

  it.each(['2011', '2013', '2019'] as const)(
    'of %s reports immediately and accepts commands under UNREGISTERED_TERMINALS=accept',
    async (edition) => {
      const phone = uniquePhone(edition);
      const terminal = await connectTo(phone, edition);
      const serials = [1, 2, 3].map((marker) => terminal.send(0x0200, terminal.buildLocation(marker)));
      for (const serial of serials) expect(await terminal.waitForResult(serial, 0x0200)).toBe(0);
      expect(await readDevice(caller.redis, canonicalNumber(phone))).toMatchObject({ podId: accepting.podId, phone });
      const outcome = caller.sendCommand(canonicalNumber(phone), startLive);
      terminal.sendGeneralResponse(await terminal.waitForFrame(0x9101));
      expect(await outcome).toMatchObject({ kind: 'answered' });
    },
  );

  it('authenticates with any code, also after a log-out, under UNREGISTERED_TERMINALS=accept', async () => {
    const phone = uniquePhone();
    const terminal = await connectTo(phone);
    expect(await terminal.tryAuthenticate('its own code')).toBe(0);
    expect(await terminal.waitForResult(terminal.send(0x0003), 0x0003)).toBe(0);
    expect(await terminal.tryAuthenticate('another one')).toBe(0);
    expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
  });

  it('cannot use the number of a registered terminal, which needs its code despite the policy', async () => {
    const phone = uniquePhone();
    const registered = await connectTo(phone);
    const code = await registered.register();
    const impostor = await connectTo(phone);
    for (let report = 0; report < 2; report += 1)
      expect(await impostor.waitForResult(impostor.send(0x0200, impostor.buildLocation()), 0x0200)).toBe(1);
    expect(await impostor.tryAuthenticate('a guess')).toBe(1);
    expect(await registered.tryAuthenticate(code)).toBe(0);
  });

  it('cannot begin a session with an acknowledgement, a log-out or an all-zero number', async () => {
    const terminal = await connectTo(uniquePhone());
    terminal.send(0x0001, Buffer.from('0001820100', 'hex'));
    expect(await terminal.waitForResult(terminal.send(0x0003), 0x0003)).toBe(1);
    const zeros = await connectTo('000000000000');
    expect(await zeros.waitForResult(zeros.send(0x0200, zeros.buildLocation()), 0x0200)).toBe(1);
  });

  it('is refused by default, also with its own code', async () => {
    const terminal = await connect(uniquePhone(), '2013');
    expect(await terminal.waitForResult(terminal.send(0x0200, terminal.buildLocation()), 0x0200)).toBe(1);
    expect(await terminal.tryAuthenticate('its own code')).toBe(1);
  });
});

describe('messages before authentication', () => {
  it.each([0x0002, 0x0003, 0x0200, 0x0704, 0x0900, 0x1206])('refuses message %s with result 1', async (messageId) => {
    const terminal = await connect(uniquePhone(), '2013');
    const serial = terminal.send(messageId, terminal.buildLocation());
    expect(await terminal.waitForResult(serial, messageId)).toBe(1);
  });

  it('never acknowledges an acknowledgement', async () => {
    const terminal = await connect(uniquePhone(), '2013');
    terminal.send(0x0001, Buffer.from('0001820100', 'hex'));
    const serial = terminal.send(0x0002);
    expect(await terminal.waitForResult(serial, 0x0002)).toBe(1);
    expect(terminal.received).toEqual([]);
  });

  it('returns the server time in UTC', async () => {
    const terminal = await connect(uniquePhone('2019'), '2019');
    const requestedAtMs = Date.now();
    terminal.send(0x0004);
    const digits = (await terminal.waitForFrame(0x8004)).body.toString('hex');
    const iso = `20${digits.slice(0, 2)}-${digits.slice(2, 4)}-${digits.slice(4, 6)}T${digits.slice(6, 8)}:${digits.slice(8, 10)}:${digits.slice(10, 12)}Z`;
    // Truncated to whole seconds.
    expect(Date.parse(iso)).toBeGreaterThan(requestedAtMs - 1_000);
    expect(Date.parse(iso)).toBeLessThanOrEqual(Date.now());
  });

  it('refuses an all-zero number', async () => {
    const terminal = await connect('000000000000', '2013');
    terminal.send(0x0100, Buffer.alloc(40));
    expect((await terminal.waitForFrame(0x8100)).body[2]).toBe(4);
    expect(await terminal.tryAuthenticate('whatever')).toBe(1);
  });

  it('responds to encrypted frames with "not supported"', async () => {
    const terminal = await login(uniquePhone());
    // Bit 10 of the properties: RSA.
    const serial = terminal.send(0x0200, terminal.buildLocation(), { encryption: 1 });
    expect(await terminal.waitForResult(serial, 0x0200)).toBe(3);
  });

  it('closes the connection after too many wrong codes', async () => {
    const terminal = await connect(uniquePhone(), '2013');
    for (let i = 0; i < 10; i += 1) expect(await terminal.tryAuthenticate(`wrong${i}`)).toBe(1);
    await terminal.waitForClose();
  });
});
