import { describe, expect, it } from '@jest/globals';
import { isCommandAllowed, isCriticalCommand } from './critical-commands.ts';

const text = (value: string): boolean => isCriticalCommand({ kind: 'sendText', text: value });
const parameter = (id: number): boolean =>
  isCriticalCommand({ kind: 'setParameters', parameters: [{ id: 1 }, { id }] });

describe('isCriticalCommand', () => {
  it.each([
    '<SPBSJ*P:BSJGPS*T:203.0.113.9,7000>',
    '*HQ,013800138000,S23#',
    '#6666#SERVER#203.0.113.9#7000#',
    'SERVER,0,203.0.113.9,7000,0#',
    'server,1,evil.example,7000,0#',
    'APN,internet#',
    'RESET',
    'Reset#',
    'reset123456',
    'FACTORY#',
    'adminip123456 203.0.113.9 7000',
    'W000000,012,203.0.113.9,7000',
    '666666,APN=internet',
    'opa opa setparam 2004:evil.example',
    'AT+CGDCONT=1,"IP","evil"',
    'STATUS#',
    '$WP+TEST',
    '   SERVER,0,203.0.113.9,7000,0#',
    '\u200b\u0000SERVER,0,203.0.113.9,7000,0#',
    'Good morning\nSERVER,0,203.0.113.9,7000,0#',
    '＜ＳＰＢＳＪ＊Ｐ：1＞',
    'ＲＥＳＥＴ',
    'RE\u200bSET#',
    'begin123456',
    'set,1,2',
  ])('is true for %j, which vendors execute', (value) => {
    expect(text(value)).toBe(true);
  });

  it.each([
    'Hello',
    'Please call the dispatcher.',
    'Come back at 5 pm, gate 12',
    'At the next stop, please wait: 10 minutes',
    'Unload at dock #4, then rest',
    'Your resettlement form is at the office',
    'Your customs papers were reset by the office',
    '请回来',
    'Set off at five',
    'Update: traffic on the A1',
    'Clear the yard first',
    'www.fleet.example/help',
    '1234 boxes are waiting',
    '+49 30 1234567 is the office',
  ])('is false for %j, which a driver reads', (value) => {
    expect(text(value)).toBe(false);
  });

  it.each([
    0x0010, 0x0012, 0x0013, 0x0017, 0x0018, 0x001d, 0x0023, 0x0026, 0x0041, 0x0042, 0x0049, 0xf000, 0xffff_ffff,
  ])('is true for the parameter %i, also together with harmless ones', (id) => {
    expect(parameter(id)).toBe(true);
  });

  it.each([0x0001, 0x0020, 0x0027, 0x0029, 0x0055, 0x0076, 0x0083, 0x0110, 0x01ff, 0xf364, 0xf367])(
    'is false for the parameter %i',
    (id) => {
      expect(parameter(id)).toBe(false);
    },
  );

  it('is true for the controls that upgrade, move and reset, and for undefined ones', () => {
    const critical = [...Array(256).keys()].filter((command) =>
      isCriticalCommand({ kind: 'terminalControl', command }),
    );
    const standard = [...Array(256).keys()].filter((command) => !critical.includes(command));
    expect(standard).toEqual([3, 4, 6, 7]);
  });

  it('is true for raw messages and false for video, pictures and queries', () => {
    expect(isCriticalCommand({ kind: 'raw' })).toBe(true);
    for (const kind of ['wakeUp', 'startLive', 'startPlayback', 'requestUpload', 'takePictures'] as const)
      expect(isCriticalCommand({ kind })).toBe(false);
  });
});

describe('isCommandAllowed', () => {
  it.each([
    ['none', false, false],
    ['none', true, false],
    ['standard', false, true],
    ['standard', true, false],
    ['critical', false, true],
    ['critical', true, true],
  ] as const)('level %s, critical %s: %s', (level, isCritical, expected) => {
    expect(isCommandAllowed(level, isCritical)).toBe(expected);
  });
});
