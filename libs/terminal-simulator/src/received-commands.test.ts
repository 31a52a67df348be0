import { type Edition, encodeBody, terminalControl, textMessage } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { ReceivedCommands } from './received-commands.ts';

function textOf(edition: Edition, hex: string) {
  const received = new ReceivedCommands(edition, 10);
  received.record({ messageId: textMessage.id, serial: 7, body: Buffer.from(hex, 'hex'), atMs: 0 });
  return received.texts[0];
}

const plain = { serial: 7, emergency: false, display: false, readAloud: false, advertisingScreen: false };

describe('texts (0x8300)', () => {
  it.each<[Edition, string, object]>([
    ['2011', '1dc4e3bac3', { ...plain, emergency: true, display: true, readAloud: true, advertisingScreen: true }],
    ['2013', '20c4e3bac3', { ...plain, canFaultCode: true, flagClass: null, textType: null }],
    ['2019', '0601c4e3bac3', { ...plain, emergency: true, display: true, flagClass: 2, textType: 1 }],
    ['2019', '0102c4e3bac3', { ...plain, flagClass: 1, textType: 2 }],
  ])('%s %s are decoded according to the edition', (edition, hex, expected) => {
    expect(textOf(edition, hex)).toMatchObject({ ...expected, text: '你好' });
  });

  it('are omitted if they cannot be decoded', () => {
    expect(textOf('2019', '')).toBeUndefined();
  });
});

describe('control commands (0x8105)', () => {
  it('have separate parameters, empty where unused', () => {
    const received = new ReceivedCommands('2013', 10);
    const note = (command: number, parameters: string): void => {
      const body = encodeBody(terminalControl, { command, parameters });
      received.record({ messageId: terminalControl.id, serial: 9, body, atMs: 0 });
    };
    note(2, '0;;cmnet;;;10.0.0.1;7808;;3');
    note(4, '');
    expect(received.controls).toEqual([
      {
        serial: 9,
        command: 2,
        parameters: '0;;cmnet;;;10.0.0.1;7808;;3',
        fields: ['0', '', 'cmnet', '', '', '10.0.0.1', '7808', '', '3'],
      },
      { serial: 9, command: 4, parameters: '', fields: [] },
    ]);
  });
});
