import { randomBytes } from 'node:crypto';
import { commandSent, commandSentSubject, type DeviceCommand, deviceCommandSubject, subscribe } from '@fleet/bus';
import { readTerminalProfile } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Gateway } from './service.ts';
import { Caller, startGateway, startLive } from './testing/harness.ts';
import { canonicalNumber, RawTerminal, type ReceivedFrame, uniquePhone } from './testing/raw-terminal.ts';

// Tests wait for conditions, which takes longer on a busy machine.
jest.setTimeout(60_000);

let gateway: Gateway;
let caller: Caller;
const open: RawTerminal[] = [];
const login = async (phone: string, edition: '2011' | '2013' | '2019' = '2013'): Promise<RawTerminal> => {
  const terminal = await RawTerminal.login(gateway.jt808Port, phone, edition);
  open.push(terminal);
  return terminal;
};

const listRecordings: DeviceCommand = {
  kind: 'listRecordings',
  channel: 1,
  startTime: '261121000000',
  endTime: null,
  alarmFlags: '0',
  mediaType: 0,
  streamType: 0,
  storageType: 0,
};
const item = (no: number): Buffer => {
  const bytes = Buffer.alloc(28);
  bytes[0] = 1;
  Buffer.from('261121080000261121081000', 'hex').copy(bytes, 1);
  bytes.writeUInt32BE(no, 24);
  return bytes;
};
const listBody = (replySerial: number, total: number, items: readonly number[]): Buffer => {
  const head = Buffer.alloc(6);
  head.writeUInt16BE(replySerial, 0);
  head.writeUInt32BE(total, 2);
  return Buffer.concat([head, ...items.map(item)]);
};

beforeAll(async () => {
  gateway = await startGateway({ COMMANDS_PER_TERMINAL: '4', WAKE_UP_INTERVAL_MS: '100' });
  caller = await Caller.open();
});
afterEach(() => {
  for (const terminal of open.splice(0)) terminal.close();
});
afterAll(async () => {
  await caller.close();
  await gateway.stop();
});

/** Returns the command frames received by a terminal, in order of arrival. */
const listCommands = (terminal: RawTerminal): ReceivedFrame[] =>
  terminal.received.filter((frame) => frame.messageId >= 0x8103 && frame.messageId !== 0x8800);

describe('commands', () => {
  it('returns notConnected immediately for a terminal without a session', async () => {
    expect(await caller.sendCommand(canonicalNumber(uniquePhone()), startLive)).toEqual({ kind: 'notConnected' });
  });

  it.each([1, 2, 3])('returns result %i of the terminal', async (result) => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    terminal.sendGeneralResponse(await terminal.waitForFrame(0x9101), result);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result } });
  });

  it('publishes the sent command with its id and serial; a retry returns the response without a second frame', async () => {
    const phone = uniquePhone();
    const imei = canonicalNumber(phone);
    const terminal = await login(phone);
    const sent: unknown[] = [];
    const subscription = subscribe(
      caller.bus,
      commandSent,
      () => undefined,
      (body) => sent.push(body),
      commandSentSubject(imei),
    );
    await caller.bus.nc.flush();
    const id = randomBytes(16).toString('hex');
    const command: DeviceCommand = { kind: 'queryParameters', parameterIds: [1] };
    const send = (isRepeated: boolean) =>
      caller.commandClient.send({
        imei,
        command,
        correlationId: 'test',
        identity: { id, isRetry: isRepeated },
        timeoutMs: 10_000,
        isClaimed: async () => true,
      });
    const first = send(false);
    const frame = await terminal.waitForFrame(0x8106);
    await waitFor(() => sent.length === 1, 'the sent command is published');
    expect(sent).toEqual([{ imei, commandId: id, messageId: 0x8106, serialNo: frame.serial }]);
    const reply = Buffer.from('000001000000010400000014', 'hex');
    reply.writeUInt16BE(frame.serial, 0);
    terminal.send(0x0104, reply);
    const response = await first;
    expect(response).toMatchObject({
      kind: 'answered',
      answer: { commandMessageId: 0x8106, message: { id: 0x0104, bodyBase64: reply.toString('base64') } },
    });
    expect(await send(true)).toEqual(response);
    // `waitForFrame` has removed the only frame.
    expect(terminal.received.filter(({ messageId }) => messageId === 0x8106)).toEqual([]);
    subscription.stop();
  });

  it('times out when the terminal does not respond, and drops a late response', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive, 3_000);
    const first = await terminal.waitForFrame(0x9101);
    expect(await outcomePromise).toEqual({ kind: 'timedOut' });
    const second = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await terminal.waitForFrame(0x9101);
    expect(frame.serial).not.toBe(first.serial);
    terminal.sendGeneralResponse(first, 1);
    terminal.sendGeneralResponse(first, 1);
    terminal.sendGeneralResponse(frame, 0);
    expect(await second).toMatchObject({
      kind: 'answered',
      answer: { result: 0, commandSerialNo: frame.serial },
    });
  });

  it('ignores responses with a wrong serial, a wrong id, serial 0 or a wrong check byte, and garbage', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await terminal.waitForFrame(0x9101);
    terminal.sendGeneralResponse({ ...frame, serial: (frame.serial + 1) & 0xffff });
    terminal.sendGeneralResponse({ ...frame, messageId: 0x9102 });
    if (frame.serial !== 0) terminal.sendGeneralResponse({ ...frame, serial: 0 });
    terminal.socket.write(Buffer.from('(status) no JT/T 808 here'));
    const broken = terminal.buildFrame(0x0001, Buffer.from('0000910101', 'hex'), { serial: 9 });
    broken.writeUInt8(broken.readUInt8(broken.length - 2) ^ 0x10, broken.length - 2);
    terminal.socket.write(broken);
    terminal.send(0x0001, Buffer.from('00', 'hex'));
    terminal.sendGeneralResponse(frame, 0);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result: 0 } });
  });

  it('matches responses that arrive byte by byte or several in one read', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = [
      caller.sendCommand(canonicalNumber(phone), startLive),
      caller.sendCommand(canonicalNumber(phone), { ...startLive, channel: 2 }),
    ];
    const frames = [await terminal.waitForFrame(0x9101), await terminal.waitForFrame(0x9101)];
    const bytes = Buffer.concat(
      frames.map(({ serial }, index) => {
        const body = Buffer.from([serial >> 8, serial & 0xff, 0x91, 0x01, 0]);
        return terminal.buildFrame(0x0001, body, { serial: 500 + index });
      }),
    );
    for (const byte of bytes) terminal.socket.write(Buffer.from([byte]));
    for (const outcome of await Promise.all(outcomePromise)) expect(outcome).toMatchObject({ kind: 'answered' });
  });

  it('ends a raw command with the specific response that the codec defines for it', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const search = { kind: 'raw', messageId: 0x8802, bodyHex: '000000000000000000000000000000' } as const;
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), search);
    const { serial } = await terminal.waitForFrame(0x8802);
    const body = Buffer.from([serial >> 8, serial & 0xff, 0, 0, 0, 0]);
    terminal.send(0x0802, body);
    const message = { id: 0x0802, edition: '2013', bodyBase64: body.toString('base64') };
    expect(await outcomePromise).toEqual({
      kind: 'answered',
      answer: { commandMessageId: 0x8802, commandSerialNo: serial, result: null, message },
    });
  });

  it('returns unreadable for a general response without a result', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const { serial } = await terminal.waitForFrame(0x9101);
    terminal.send(0x0001, Buffer.from([serial >> 8, serial & 0xff, 0x91, 0x01]));
    expect(await outcomePromise).toMatchObject({ kind: 'unreadable' });
  });

  it('refuses a text that the protocol cannot encode', async () => {
    const phone = uniquePhone();
    await login(phone);
    const text = { kind: 'sendText', text: '\u{1f600}', textType: null, options: null } as const;
    expect(await caller.sendCommand(canonicalNumber(phone), text)).toMatchObject({ kind: 'refused' });
  });

  it('returns busy above the limit of commands per terminal', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = [1, 2, 3, 4].map((channel) =>
      caller.sendCommand(canonicalNumber(phone), { ...startLive, channel }),
    );
    const frames = [];
    for (let i = 0; i < 4; i += 1) frames.push(await terminal.waitForFrame(0x9101));
    expect(await caller.sendCommand(canonicalNumber(phone), startLive)).toMatchObject({ kind: 'busy' });
    for (const frame of frames) terminal.sendGeneralResponse(frame);
    for (const outcome of await Promise.all(outcomePromise)) expect(outcome.kind).toBe('answered');
  });

  it('sends one frame for two requests with the same Command-Id', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    let requestCount = 0;
    const subscription = caller.bus.nc.subscribe(deviceCommandSubject(canonicalNumber(phone)), {
      callback: () => (requestCount += 1),
    });
    await caller.bus.nc.flush();
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await terminal.waitForFrame(0x9101);
    // The client repeats its request every few seconds.
    await waitFor(() => requestCount >= 2, 'a second request');
    const serial = terminal.send(0x0002);
    await terminal.waitForResult(serial, 0x0002);
    subscription.unsubscribe();
    expect(listCommands(terminal)).toEqual([]);
    terminal.sendGeneralResponse(frame);
    expect(await outcomePromise).toMatchObject({ kind: 'answered' });
  });

  it("accepts the response on the terminal's next session, without a second frame", async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive);
    const frame = await terminal.waitForFrame(0x9101);
    terminal.close();
    const again = await login(phone);
    again.sendGeneralResponse(frame);
    expect(await outcomePromise).toMatchObject({
      kind: 'answered',
      answer: { commandSerialNo: frame.serial, result: 0 },
    });
    expect(listCommands(again)).toEqual([]);
  });

  it('times out when the session is lost and the terminal does not return', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), startLive, 3_000);
    await terminal.waitForFrame(0x9101);
    terminal.close();
    expect(await outcomePromise).toEqual({ kind: 'timedOut' });
  });
});

describe('concurrent commands', () => {
  it('returns to each of 200 commands to 50 terminals its own response', async () => {
    const phones = Array.from({ length: 50 }, () => uniquePhone());
    await Promise.all(
      phones.map(async (phone, index) => {
        const terminal = await login(phone);
        // The result identifies terminal and channel, which reveals mixed-up responses. Responses arrive in another
        // order.
        terminal.onFrame = (frame) => {
          if (frame.messageId !== 0x9102) return;
          const channel = frame.body[0] ?? 0;
          setTimeout(() => terminal.sendGeneralResponse(frame, (index * 4 + channel) % 251), 50 * (4 - channel));
        };
      }),
    );
    const outcomes = await Promise.all(
      phones.flatMap((phone, index) =>
        [0, 1, 2, 3].map(async (channel) => ({
          expected: (index * 4 + channel) % 251,
          outcome: await caller.sendCommand(
            canonicalNumber(phone),
            { kind: 'controlLive', channel, control: 0, closeType: 0, streamType: 0 },
            20_000,
          ),
        })),
      ),
    );
    expect(outcomes).toHaveLength(200);
    for (const { expected, outcome } of outcomes)
      expect(outcome).toMatchObject({ kind: 'answered', answer: { result: expected } });
  });
});

describe('recording list query', () => {
  it('returns and acknowledges a list in one message', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), listRecordings);
    const frame = await terminal.waitForFrame(0x9205);
    expect(frame.body.toString('hex')).toBe(`01261121000000000000000000${'00'.repeat(8)}000000`);
    const body = listBody(frame.serial, 2, [1, 2]);
    const serial = terminal.send(0x1205, body);
    expect(await outcomePromise).toEqual({
      kind: 'answered',
      answer: {
        commandMessageId: 0x9205,
        commandSerialNo: frame.serial,
        result: null,
        message: { id: 0x1205, edition: '2013', bodyBase64: body.toString('base64') },
      },
    });
    expect(await terminal.waitForResult(serial, 0x1205)).toBe(0);
  });

  it('joins a list split inside its items and acknowledges each part', async () => {
    const phone = uniquePhone('2019');
    const terminal = await login(phone, '2019');
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), listRecordings);
    const frame = await terminal.waitForFrame(0x9205);
    terminal.sendGeneralResponse(frame, 0);
    const body = listBody(
      frame.serial,
      90,
      Array.from({ length: 90 }, (_, index) => index),
    );
    const parts = terminal.buildParts(0x1205, body, 1000);
    for (const part of parts) {
      terminal.socket.write(part.bytes);
      expect(await terminal.waitForResult(part.serial, 0x1205)).toBe(0);
    }
    expect(await outcomePromise).toMatchObject({
      kind: 'answered',
      answer: { result: 0, message: { bodyBase64: body.toString('base64') } },
    });
  });

  it('collects a list sent in several complete messages', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), listRecordings);
    const { serial } = await terminal.waitForFrame(0x9205);
    terminal.send(0x1205, listBody(serial, 3, [1]));
    terminal.send(0x1205, listBody(serial, 3, [2, 3]));
    const bodyBase64 = listBody(serial, 3, [1, 2, 3]).toString('base64');
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { message: { bodyBase64 } } });
  });

  it('fails on a general response other than 0, and only on that', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), listRecordings);
    const frame = await terminal.waitForFrame(0x9205);
    terminal.sendGeneralResponse(frame, 0);
    terminal.sendGeneralResponse(frame, 1);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result: 1, message: null } });
  });

  it('returns unreadable for a list that ends inside an item', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), listRecordings);
    const { serial } = await terminal.waitForFrame(0x9205);
    terminal.send(0x1205, listBody(serial, 2, [1, 2]).subarray(0, 40));
    expect(await outcomePromise).toMatchObject({ kind: 'unreadable' });
  });
});

describe('commands with specific responses', () => {
  it('completes a playback command with the first response, general or specific', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const playback: DeviceCommand = {
      ...startLive,
      kind: 'startPlayback',
      mediaType: 0,
      storageType: 0,
      playbackMode: 0,
      speed: 0,
      startTime: '261121000000',
      endTime: null,
    };
    const first = caller.sendCommand(canonicalNumber(phone), playback);
    terminal.sendGeneralResponse(await terminal.waitForFrame(0x9201), 0);
    expect(await first).toMatchObject({ kind: 'answered', answer: { result: 0, message: null } });
    const second = caller.sendCommand(canonicalNumber(phone), playback);
    const { serial } = await terminal.waitForFrame(0x9201);
    terminal.send(0x1205, listBody(serial, 0, []));
    expect(await second).toMatchObject({ kind: 'answered', answer: { result: null, message: { id: 0x1205 } } });
  });

  it('sends attribute queries, whose responses have no reply serial, one at a time', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = [1, 2].map(() => caller.sendCommand(canonicalNumber(phone), { kind: 'queryAvAttributes' }));
    await terminal.waitForFrame(0x9003);
    const serial = terminal.send(0x0002);
    await terminal.waitForResult(serial, 0x0002);
    expect(listCommands(terminal)).toEqual([]);
    const attributes = Buffer.from('060100010140016204 08'.replace(' ', ''), 'hex');
    terminal.send(0x1003, attributes);
    await terminal.waitForFrame(0x9003);
    terminal.send(0x1003, attributes);
    for (const outcome of await Promise.all(outcomePromise))
      expect(outcome).toMatchObject({ kind: 'answered', answer: { message: { id: 0x1003 } } });
  });

  it('stores the model at login and the audio attributes before the command ends, for other services', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const profile = () => readTerminalProfile(caller.redis, canonicalNumber(phone));
    await waitFor(async () => (await profile()).model !== null, 'the model is stored');
    const outcome = caller.sendCommand(canonicalNumber(phone), { kind: 'queryAvAttributes' });
    await terminal.waitForFrame(0x9003);
    terminal.send(0x1003, Buffer.from('13020201040001620408', 'hex'));
    expect(await outcome).toMatchObject({ kind: 'answered' });
    expect((await profile()).audio).toEqual({ codec: 19, sampleRate: 44_100, channels: 2 });
  });

  it.each([
    ['2019', 0x8204],
    ['2013', 0x8201],
    ['2011', 0x8201],
  ] as const)('repeats a %s wake-up with new serials until the terminal responds', async (edition, messageId) => {
    const phone = uniquePhone(edition);
    const terminal = await login(phone, edition);
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), { kind: 'wakeUp' });
    const first = await terminal.waitForFrame(messageId);
    const second = await terminal.waitForFrame(messageId);
    expect(second.serial).not.toBe(first.serial);
    const serial = Buffer.from([first.serial >> 8, first.serial & 0xff]);
    if (edition === '2019') terminal.sendGeneralResponse(first);
    else
      terminal.send(0x0201, Buffer.concat([edition === '2011' ? Buffer.alloc(0) : serial, terminal.buildLocation()]));
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { commandMessageId: messageId } });
  });

  it.each([
    ['2013', { emergency: true, displayByTerminal: true, tts: true }, null, '0d'],
    ['2011', null, 'Service', '01'],
    ['2019', { emergency: true, tts: true }, 'Service', '0a02'],
    ['2019', { displayByTerminal: true, centralNavigationInfo: true }, 'Service', '0502'],
    ['2019', {}, 'Notification', '0301'],
    ['2019', {}, null, '0001'],
    ['2019', null, null, '0201'],
  ] as const)('encodes the text flags for %s with options %j and type %s', async (edition, options, textType, head) => {
    const phone = uniquePhone(edition);
    const terminal = await login(phone, edition);
    const none = {
      emergency: false,
      displayByTerminal: false,
      tts: false,
      displayByAdvertisingScreen: false,
      centralNavigationInfo: false,
    };
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), {
      kind: 'sendText',
      text: '\u4f60A',
      textType,
      options: options === null ? null : { ...none, ...options },
    });
    const frame = await terminal.waitForFrame(0x8300);
    terminal.sendGeneralResponse(frame);
    expect(frame.body.toString('hex')).toBe(`${head}c4e341`);
    expect((await outcomePromise).kind).toBe('answered');
  });

  it.each([
    ['2011', 1022, 1],
    ['2011', 1023, 2],
    ['2013', 1022, 1],
    ['2013', 1024, 2],
    ['2019', 1021, 1],
    ['2019', 1022, 2],
  ] as const)(
    'splits a text for a %s terminal with %i bytes into %i parts at byte boundaries',
    async (edition, bytes, parts) => {
      const phone = uniquePhone(edition);
      const terminal = await login(phone, edition);
      // Two bytes per character, so a part may end in the middle of one.
      const text = `${bytes % 2 === 0 ? '' : 'x'}${'\u8f66'.repeat(bytes >> 1)}`;
      const outcomePromise = caller.sendCommand(canonicalNumber(phone), {
        kind: 'sendText',
        text,
        textType: null,
        options: null,
      });
      const frames = [await terminal.waitForFrame(0x8300)];
      while (frames.length < parts) frames.push(await terminal.waitForFrame(0x8300));
      expect(frames.map(({ subpackage }) => subpackage)).toEqual(
        parts === 1 ? [null] : frames.map((_frame, at) => ({ total: parts, no: at + 1 })),
      );
      const head = edition === '2019' ? '0201' : '01';
      const hex = Buffer.concat(frames.map(({ body }) => body)).toString('hex');
      expect(hex).toBe(`${head}${bytes % 2 === 0 ? '' : '78'}${'b3b5'.repeat(bytes >> 1)}`);
      terminal.sendGeneralResponse(frames.at(-1) as ReceivedFrame, 1);
      expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result: 1 } });
    },
  );

  it.each([
    ['acknowledges the whole message with the serial of its first part', [1]],
    ['acknowledges the whole message with the serial of its last part', [2]],
    ['acknowledges each part', [1, 2]],
  ])('sends both parts of a text without waiting to a terminal that %s', async (_style, acknowledged) => {
    const phone = uniquePhone('2013');
    const terminal = await login(phone, '2013');
    const outcome = caller.sendCommand(canonicalNumber(phone), {
      kind: 'sendText',
      text: 'x'.repeat(1024),
      textType: null,
      options: null,
    });
    const parts = [await terminal.waitForFrame(0x8300), await terminal.waitForFrame(0x8300)];
    for (const part of parts.filter((_part, at) => acknowledged.includes(at + 1))) terminal.sendGeneralResponse(part);
    expect(await outcome).toMatchObject({
      kind: 'answered',
      answer: { result: 0, commandSerialNo: parts[0]?.serial },
    });
  });

  it('resends a requested part unchanged and completes a two-part text with the response to its last part', async () => {
    const phone = uniquePhone('2019');
    const terminal = await login(phone, '2019');
    const outcomePromise = caller.sendCommand(canonicalNumber(phone), {
      kind: 'sendText',
      text: 'x'.repeat(1024),
      textType: null,
      options: null,
    });
    const head = await terminal.waitForFrame(0x8300);
    const tail = await terminal.waitForFrame(0x8300);
    expect([head.subpackage, tail.subpackage]).toEqual([
      { total: 2, no: 1 },
      { total: 2, no: 2 },
    ]);
    const first = head.serial;
    terminal.send(0x0005, Buffer.from([first >> 8, first & 0xff, 0, 1, 0, 2]));
    expect(await terminal.waitForFrame(0x8300)).toEqual(tail);
    terminal.sendGeneralResponse(head);
    terminal.sendGeneralResponse(tail);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result: 0, commandSerialNo: first } });
  });
});
