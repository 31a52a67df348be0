import { describe, expect, it } from '@jest/globals';
import { setUpCommandHarness } from './testing/command-harness.ts';
import { canonicalNumber, type ReceivedFrame, uniquePhone } from './testing/raw-terminal.ts';

const harness = setUpCommandHarness();
const { login } = harness;

describe('texts to terminals', () => {
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), {
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
      const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), {
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
    const outcome = harness.caller.sendCommand(canonicalNumber(phone), {
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
    const outcomePromise = harness.caller.sendCommand(canonicalNumber(phone), {
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
