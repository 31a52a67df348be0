import {
  eventHeaders,
  eventSubject,
  readTelemetryBatch,
  sessionChanged,
  subscribe,
  type TelemetryReport,
} from '@fleet/bus';
import { allMessages, terminalRegistration, tryDecodeBody } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, uniquePhone } from './testing/raw-terminal.ts';
import { TestServer } from './testing/test-server.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let broker: TestServer;
let gateway: Gateway;
let caller: Caller;
const open: RawTerminal[] = [];
const login = async (phone: string, edition: '2011' | '2013' | '2019' = '2013'): Promise<RawTerminal> => {
  const terminal = await RawTerminal.login(gateway.jt808Port, phone, edition);
  open.push(terminal);
  return terminal;
};

interface StoredMessage {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: { get(name: string): string };
}

/** Returns all messages of a stream. */
async function stored(stream: string): Promise<StoredMessage[]> {
  const manager = await caller.bus.jetstreamManager();
  const { state } = await manager.streams.info(stream);
  const messages: StoredMessage[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1)
    messages.push(await manager.streams.getMessage(stream, { seq }));
  return messages;
}

async function readReports(phone: string): Promise<TelemetryReport[]> {
  const reports = (await stored('TELEMETRY')).flatMap((message) => [...readTelemetryBatch(message.data)]);
  return reports.filter((report) => report.phone === phone);
}

const readEvents = async (phone: string, messageId: number): Promise<StoredMessage[]> =>
  (await stored('EVENTS')).filter((message) => message.subject === eventSubject(canonicalNumber(phone), messageId));

beforeAll(async () => {
  broker = await TestServer.nats();
  const url = `nats://127.0.0.1:${broker.port}`;
  gateway = await startGateway({ NATS_URL: url });
  caller = await Caller.open(url);
});
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});
afterAll(async () => {
  await caller.close();
  await gateway.stop();
  await broker.remove();
});

describe('location reports', () => {
  it.each(['2011', '2013', '2019'] as const)(
    'of %s are stored unmodified in JetStream before they are acknowledged',
    async (edition) => {
      const phone = uniquePhone(edition);
      const terminal = await login(phone, edition);
      const bodies = [1, 2, 3].map((marker) => terminal.buildLocation(marker));
      const serials = bodies.map((body) => terminal.send(0x0200, body));
      for (const serial of serials) expect(await terminal.waitForResult(serial, 0x0200)).toBe(0);
      const reports = await readReports(phone);
      expect(reports.map(({ serialNo }) => serialNo)).toEqual(serials);
      for (const [index, report] of reports.entries()) {
        expect(report).toMatchObject({ edition, phone, messageId: 0x0200, body: bodies[index] });
        expect(Math.abs(report.receivedAtMs - Date.now())).toBeLessThan(60_000);
      }
    },
  );

  it('in a batch message are stored as one report', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const item = terminal.buildLocation();
    const body = Buffer.concat([Buffer.from([0, 1, 1, 0, item.length]), item]);
    expect(await terminal.waitForResult(terminal.send(0x0704, body), 0x0704)).toBe(0);
    expect(await readReports(phone)).toMatchObject([{ messageId: 0x0704, body }]);
  });

  it('in a split batch message are joined before storage, and every part is acknowledged', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const item = terminal.buildLocation();
    const items = Array.from({ length: 40 }, () => Buffer.concat([Buffer.from([0, item.length]), item]));
    const body = Buffer.concat([Buffer.from([0, 40, 1]), ...items]);
    const parts = terminal.buildParts(0x0704, body, 500);
    for (const part of parts.toReversed()) terminal.socket.write(part.bytes);
    for (const part of parts) expect(await terminal.waitForResult(part.serial, 0x0704)).toBe(0);
    expect(await readReports(phone)).toMatchObject([{ messageId: 0x0704, body }]);
  });

  it('below the minimum length are refused as "incorrect" and not stored', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    expect(await terminal.waitForResult(terminal.send(0x0200, Buffer.alloc(20)), 0x0200)).toBe(2);
    expect(await terminal.waitForResult(terminal.send(0x0704, Buffer.alloc(2)), 0x0704)).toBe(2);
    expect(await readReports(phone)).toEqual([]);
  });

  it('of both number forms on one connection belong to one device and are acknowledged in their own digits', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const long = new RawTerminal(terminal.socket, phone.padStart(20, '0'), '2019');
    const serial = long.send(0x0200, long.buildLocation(), { serial: 4711 });
    const reply = await long.waitForFrame(0x8001, (frame) => frame.body.readUInt16BE(0) === serial);
    expect(reply).toMatchObject({ phone: phone.padStart(20, '0'), header: '2019', protocolVersion: 1 });
  });

  it('of another number on the connection are refused', async () => {
    const terminal = await login(uniquePhone());
    const serial = terminal.send(0x0200, terminal.buildLocation(), { phone: uniquePhone() });
    expect(await terminal.waitForResult(serial, 0x0200)).toBe(1);
  });

  it('are not acknowledged while the broker hangs or is down, but are once it has stored them', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    await broker.suspend(caller.bus);
    const hanging = terminal.send(0x0200, terminal.buildLocation(1));
    expect(await terminal.waitForResult(terminal.send(0x0002), 0x0002)).toBe(0);
    await expect(terminal.waitForResult(hanging, 0x0200, 300)).rejects.toThrow('no 0x8001');
    await broker.kill();
    const unacknowledgedSerial = terminal.send(0x0200, terminal.buildLocation(2));
    await expect(terminal.waitForResult(unacknowledgedSerial, 0x0200, 300)).rejects.toThrow('no 0x8001');
    await broker.start();
    expect(await terminal.waitForResult(unacknowledgedSerial, 0x0200, 15_000)).toBe(0);
    expect(await terminal.waitForResult(hanging, 0x0200, 15_000)).toBe(0);
    await waitFor(() => caller.bus.isUp(), 'the caller is connected again');
    const serials = (await readReports(phone)).map(({ serialNo }) => serialNo);
    expect(new Set(serials)).toEqual(new Set([hanging, unacknowledgedSerial]));
  });
});

/** Messages of sessions, locations, pictures and recordings, which have tests of their own. */
const otherMessageIds = new Set([0x0002, 0x0003, 0x0004, 0x0100, 0x0102, 0x0200, 0x0704, 0x0801, 0x1205]);
/** Every other message of a terminal that the codec defines with a response of the platform. */
const events = allMessages.filter(
  ({ id, from, responseIds }) => from === 'terminal' && responseIds !== undefined && !otherMessageIds.has(id),
);

describe('terminal events', () => {
  it.each(events.map(({ name, id }) => [name, id] as const))(
    'message %s is stored and acknowledged with success',
    async (_name, messageId) => {
      const phone = uniquePhone('2019');
      const terminal = await login(phone, '2019');
      const body = Buffer.from('0102030405060708', 'hex');
      const serial = terminal.send(messageId, body);
      expect(await terminal.waitForResult(serial, messageId)).toBe(0);
      const [event, ...others] = await readEvents(phone, messageId);
      expect(others).toEqual([]);
      expect(Buffer.from(event?.data ?? [])).toEqual(body);
      expect(event?.header.get(eventHeaders.phone)).toBe(phone);
      expect(event?.header.get(eventHeaders.edition)).toBe('2019');
      expect(event?.header.get(eventHeaders.serialNo)).toBe(String(serial));
    },
  );

  it.each(['2011', '2013', '2019'] as const)('a %s registration is stored after authentication', async (edition) => {
    const phone = uniquePhone(edition);
    await login(phone, edition);
    await waitFor(async () => (await readEvents(phone, 0x0100)).length > 0, 'the registration is stored');
    const [event, ...others] = await readEvents(phone, 0x0100);
    expect(others).toEqual([]);
    expect(event?.header.get(eventHeaders.edition)).toBe(edition);
    expect(tryDecodeBody(terminalRegistration, Buffer.from(event?.data ?? []), edition).ok).toBe(true);
  });

  it('terminal attributes are stored without a pending command', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    terminal.send(0x0107, Buffer.alloc(60, 0x30));
    await waitFor(async () => (await readEvents(phone, 0x0107)).length === 1, 'the attributes are stored');
    expect((await readEvents(phone, 0x0107))[0]?.data).toEqual(Buffer.alloc(60, 0x30));
  });

  it('session.changed is published when a session begins and ends', async () => {
    const changes: { imei: string; isOnline: boolean }[] = [];
    const onError = (error: unknown) => {
      throw error;
    };
    const listener = subscribe(caller.bus, sessionChanged, onError, (change) => changes.push(change));
    await caller.bus.nc.flush();
    const phone = uniquePhone();
    const ownChanges = () =>
      changes.filter(({ imei }) => imei === canonicalNumber(phone)).map(({ isOnline }) => isOnline);
    const terminal = await login(phone);
    await waitFor(() => ownChanges().length === 1, 'the start of the session is published');
    terminal.close();
    await waitFor(() => ownChanges().length === 2, 'the end of the session is published');
    expect(ownChanges()).toEqual([true, false]);
    listener.stop();
  });

  it('messages outside the standard are stored and acknowledged as "not supported"', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    expect(await terminal.waitForResult(terminal.send(0x6006, Buffer.from('aa')), 0x6006)).toBe(3);
    expect(await readEvents(phone, 0x6006)).toHaveLength(1);
  });

  it('messages with ids of the platform are refused as "not supported" and not stored', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    expect(await terminal.waitForResult(terminal.send(0x8300), 0x8300)).toBe(3);
    expect(await readEvents(phone, 0x8300)).toEqual([]);
  });
});

describe('split picture', () => {
  const picture = Buffer.concat([Buffer.from('0000002a0000000100000000', 'hex'), Buffer.alloc(2_000, 0xd8)]);

  it('is stored as a whole: each part is acknowledged, then 0x8800 of exactly four bytes is sent', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const parts = terminal.buildParts(0x0801, picture, 800);
    for (const part of parts) {
      terminal.socket.write(part.bytes);
      expect(await terminal.waitForResult(part.serial, 0x0801)).toBe(0);
    }
    expect((await terminal.waitForFrame(0x8800)).body.toString('hex')).toBe('0000002a');
    const [event] = await readEvents(phone, 0x0801);
    expect(Buffer.from(event?.data ?? [])).toEqual(picture);
  });

  it('with a missing part is requested by 0x8800, other messages by 0x8003', async () => {
    const phone = uniquePhone('2019');
    const terminal = await login(phone, '2019');
    const [first, second, third] = terminal.buildParts(0x0801, picture, 800);
    const [head, tail] = terminal.buildParts(0x0705, Buffer.alloc(1_200, 5), 800);
    for (const part of [first, third, head]) terminal.socket.write(part?.bytes ?? '');
    const retransmitRequest = await terminal.waitForFrame(0x8800, () => true, 15_000);
    expect(retransmitRequest.body.toString('hex')).toBe('0000002a010002');
    const retransmit = await terminal.waitForFrame(0x8003, () => true, 15_000);
    expect(retransmit.body.readUInt16BE(0)).toBe(head?.serial);
    expect(retransmit.body.toString('hex', 2)).toBe('00010002');
    for (const part of [second, tail]) terminal.socket.write(part?.bytes ?? '');
    expect((await terminal.waitForFrame(0x8800)).body).toHaveLength(4);
    expect(await terminal.waitForResult(tail?.serial ?? -1, 0x0705)).toBe(0);
    expect(await readEvents(phone, 0x0705)).toHaveLength(1);
  });
});
