import { randomBytes } from 'node:crypto';
import { commandSent, commandSentSubject, type DeviceCommand, deviceCommandSubject, subscribe } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { listCommands, setUpCommandHarness } from './testing/command-harness.ts';
import { startLive } from './testing/harness.ts';
import { canonicalNumber, uniquePhone } from './testing/raw-terminal.ts';

const harness = setUpCommandHarness();
const { login } = harness;

describe('commands', () => {
  it('returns notConnected immediately for a terminal without a session', async () => {
    expect(await harness.caller.sendCommand(canonicalNumber(uniquePhone()), startLive)).toEqual({
      kind: 'notConnected',
    });
  });

  it.each([1, 2, 3])('returns result %i of the terminal', async (result) => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive);
    terminal.sendGeneralResponse(await terminal.waitForFrame(0x9101), result);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result } });
  });

  it('publishes the sent command with its id and serial; a retry returns the response without a second frame', async () => {
    const phone = uniquePhone();
    const imei = canonicalNumber(phone);
    const terminal = await login(phone);
    const sent: unknown[] = [];
    const subscription = subscribe(
      harness.caller.bus,
      commandSent,
      () => undefined,
      (body) => sent.push(body),
      commandSentSubject(imei),
    );
    await harness.caller.bus.nc.flush();
    const id = randomBytes(16).toString('hex');
    const command: DeviceCommand = { kind: 'queryParameters', parameterIds: [1] };
    const send = (isRepeated: boolean) =>
      harness.caller.commandClient.send({
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive, 3_000);
    const first = await terminal.waitForFrame(0x9101);
    expect(await outcomePromise).toEqual({ kind: 'timedOut' });
    const second = harness.caller.sendCommand(canonicalNumber(phone), startLive);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive);
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
      harness.caller.sendCommand(canonicalNumber(phone), startLive),
      harness.caller.sendCommand(canonicalNumber(phone), { ...startLive, channel: 2 }),
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), search);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive);
    const { serial } = await terminal.waitForFrame(0x9101);
    terminal.send(0x0001, Buffer.from([serial >> 8, serial & 0xff, 0x91, 0x01]));
    expect(await outcomePromise).toMatchObject({ kind: 'unreadable' });
  });

  it('refuses a text that the protocol cannot encode', async () => {
    const phone = uniquePhone();
    await login(phone);
    const text = { kind: 'sendText', text: '\u{1f600}', textType: null, options: null } as const;
    expect(await harness.caller.sendCommand(canonicalNumber(phone), text)).toMatchObject({ kind: 'refused' });
  });

  it('returns busy above the limit of commands per terminal', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = [1, 2, 3, 4].map((channel) =>
      harness.caller.sendCommand(canonicalNumber(phone), { ...startLive, channel }),
    );
    const frames = [];
    for (let i = 0; i < 4; i += 1) frames.push(await terminal.waitForFrame(0x9101));
    expect(await harness.caller.sendCommand(canonicalNumber(phone), startLive)).toMatchObject({ kind: 'busy' });
    for (const frame of frames) terminal.sendGeneralResponse(frame);
    for (const outcome of await Promise.all(outcomePromise)) expect(outcome.kind).toBe('answered');
  });

  it('sends one frame for two requests with the same Command-Id', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    let requestCount = 0;
    const subscription = harness.caller.bus.nc.subscribe(deviceCommandSubject(canonicalNumber(phone)), {
      callback: () => (requestCount += 1),
    });
    await harness.caller.bus.nc.flush();
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), startLive, 3_000);
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
          outcome: await harness.caller.sendCommand(
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
