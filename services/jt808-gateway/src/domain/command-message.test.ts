import type { DeviceCommand, DeviceCommandOf } from '@fleet/bus';
import type { Edition } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { buildCommandMessage } from './command-message.ts';

const editions: readonly Edition[] = ['2011', '2013', '2019'];
type Text = DeviceCommandOf<'sendText'>;
const none = {
  emergency: false,
  displayByTerminal: false,
  tts: false,
  displayByAdvertisingScreen: false,
  centralNavigationInfo: false,
};
const text = (more: Partial<Omit<Text, 'kind'>>): Text => ({
  kind: 'sendText',
  text: 'A',
  textType: null,
  options: null,
  ...more,
});
/** Returns the body without the text, as hex. */
const encodeHead = (command: Text, edition: Edition): string => {
  const { messageId, body } = buildCommandMessage(command, edition);
  expect(messageId).toBe(0x8300);
  expect(body.toString('latin1').endsWith('A')).toBe(true);
  return body.subarray(0, -1).toString('hex');
};

describe('text message 0x8300 (JT/T 808 reference, section 11)', () => {
  it.each<[string, Text['options'], Text['textType'], before2019: string, in2019: string]>([
    ['no options', null, null, '01', '0201'],
    ['no options, a notification', null, 'Notification', '01', '0201'],
    ['no options, a service text', null, 'Service', '01', '0202'],
    ['nothing chosen', none, null, '00', '0001'],
    ['a notification', none, 'Notification', '00', '0301'],
    ['a service text', none, 'Service', '00', '0102'],
    ['an emergency', { ...none, emergency: true }, null, '01', '0201'],
    ['an emergency service text', { ...none, emergency: true }, 'Service', '01', '0202'],
    ['an emergency notification', { ...none, emergency: true }, 'Notification', '01', '0201'],
    ['the display', { ...none, displayByTerminal: true }, null, '04', '0401'],
    ['reading aloud', { ...none, tts: true }, null, '08', '0801'],
    ['the advertising screen', { ...none, displayByAdvertisingScreen: true }, null, '10', '1001'],
    ['navigation information, which is bit 5 cleared', { ...none, centralNavigationInfo: true }, null, '00', '0001'],
    [
      'all options',
      {
        emergency: true,
        displayByTerminal: true,
        tts: true,
        displayByAdvertisingScreen: true,
        centralNavigationInfo: true,
      },
      'Service',
      '1d',
      '1e02',
    ],
  ])('encodes the flags of %s', (_what, options, textType, before2019, in2019) => {
    const command = text({ options, textType });
    expect(editions.map((edition) => encodeHead(command, edition))).toEqual([before2019, before2019, in2019]);
  });

  it('encodes the text in GBK up to its last byte', () => {
    for (const edition of editions) {
      const long = buildCommandMessage(text({ text: '车'.repeat(512) }), edition).body;
      expect(long.length).toBe((edition === '2019' ? 2 : 1) + 1024);
      expect(long.subarray(-2).toString('hex')).toBe('b3b5');
      expect(() => buildCommandMessage(text({ text: '😀' }), edition)).toThrow(/😀/);
    }
  });
});

describe('terminal control 0x8105 (JT/T 808 reference, section 9)', () => {
  it.each([
    [4, null, '04'],
    [255, null, 'ff'],
    [0, null, '00'],
    [
      2,
      '0;车;;;;host;7808;0;60',
      `02${Buffer.from('0;').toString('hex')}b3b5${Buffer.from(';;;;host;7808;0;60').toString('hex')}`,
    ],
    [123, 'as;123;zxc;123;', '7b61733b3132333b7a78633b3132333b'],
  ])('encodes command %i with %j identically in every edition', (command, parameters, hex) => {
    for (const edition of editions) {
      const { messageId, body } = buildCommandMessage({ kind: 'terminalControl', command, parameters }, edition);
      expect({ messageId, body: body.toString('hex') }).toEqual({ messageId: 0x8105, body: hex });
    }
  });
});

describe('wake-up command', () => {
  it('sends link detection in 2019 and a location query before', () => {
    const ids = editions.map((edition) => buildCommandMessage({ kind: 'wakeUp' }, edition));
    expect(ids).toEqual([0x8201, 0x8201, 0x8204].map((messageId) => ({ messageId, body: Buffer.alloc(0) })));
  });
});

describe('parameter, picture, door and raw commands', () => {
  const encodeHex = (command: DeviceCommand, edition: Edition): string => {
    const { messageId, body } = buildCommandMessage(command, edition);
    return `${messageId.toString(16)} ${body.toString('hex')}`.trim();
  };

  it.each<[string, DeviceCommand, string]>([
    [
      'two parameters',
      {
        kind: 'setParameters',
        parameters: [
          { id: 0x0001, valueHex: '0000003C' },
          { id: 0xf001, valueHex: 'ff' },
        ],
      },
      '8103 0200000001040000003c0000f00101ff',
    ],
    ['all parameters', { kind: 'queryParameters', parameterIds: [] }, '8104'],
    ['some parameters', { kind: 'queryParameters', parameterIds: [1, 0x29] }, '8106 020000000100000029'],
    ['attributes', { kind: 'queryAttributes' }, '8107'],
    ['the location', { kind: 'queryLocation' }, '8201'],
    ['a raw message', { kind: 'raw', messageId: 0x8900, bodyHex: '41CAFE' }, '8900 41cafe'],
    [
      'three pictures',
      {
        kind: 'takePictures',
        channel: 1,
        count: 3,
        intervalSeconds: 5,
        isStored: false,
        resolution: 2,
        quality: 5,
        brightness: 120,
        contrast: 60,
        saturation: 61,
        chroma: 130,
      },
      '8801 0100030005000205783c3d82',
    ],
  ])('encodes %s', (_what, command, hex) => {
    expect(encodeHex(command, '2013')).toBe(hex);
    expect(encodeHex(command, '2019')).toBe(hex);
  });

  it('confirms alarms since 2013 (JT/T 808-2013 table 35)', () => {
    const command = { kind: 'confirmAlarm', alarmSerialNo: 0, alarmTypes: 0x80000009 } as const;
    expect(encodeHex(command, '2013')).toBe('8203 000080000009');
    expect(encodeHex({ ...command, alarmSerialNo: 258 }, '2019')).toBe('8203 010280000009');
  });

  it('locks doors by flag bit 0 before 2019, and by an item with value 0 since (JT/T 808-2019 table 58)', () => {
    const doors = (isLocked: boolean, edition: Edition): string =>
      encodeHex({ kind: 'controlDoors', isLocked }, edition);
    expect([doors(true, '2013'), doors(false, '2013')]).toEqual(['8500 01', '8500 00']);
    expect([doors(true, '2019'), doors(false, '2019')]).toEqual(['8500 0001000100', '8500 0001000101']);
  });
});
