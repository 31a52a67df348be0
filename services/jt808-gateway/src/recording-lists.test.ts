import type { DeviceCommand } from '@fleet/bus';
import { describe, expect, it } from '@jest/globals';
import { setUpCommandHarness } from './testing/command-harness.ts';
import { canonicalNumber, uniquePhone } from './testing/raw-terminal.ts';

const harness = setUpCommandHarness();
const { login } = harness;

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

describe('recording list query', () => {
  it('returns and acknowledges a list in one message', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), listRecordings);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), listRecordings);
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), listRecordings);
    const { serial } = await terminal.waitForFrame(0x9205);
    terminal.send(0x1205, listBody(serial, 3, [1]));
    terminal.send(0x1205, listBody(serial, 3, [2, 3]));
    const bodyBase64 = listBody(serial, 3, [1, 2, 3]).toString('base64');
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { message: { bodyBase64 } } });
  });

  it('fails on a general response other than 0, and only on that', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), listRecordings);
    const frame = await terminal.waitForFrame(0x9205);
    terminal.sendGeneralResponse(frame, 0);
    terminal.sendGeneralResponse(frame, 1);
    expect(await outcomePromise).toMatchObject({ kind: 'answered', answer: { result: 1, message: null } });
  });

  it('returns unreadable for a list that ends inside an item', async () => {
    const phone = uniquePhone();
    const terminal = await login(phone);
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), listRecordings);
    const { serial } = await terminal.waitForFrame(0x9205);
    terminal.send(0x1205, listBody(serial, 2, [1, 2]).subarray(0, 40));
    expect(await outcomePromise).toMatchObject({ kind: 'unreadable' });
  });
});
