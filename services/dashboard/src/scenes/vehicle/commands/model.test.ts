import { describe, expect, it } from '@jest/globals';
import { emptyForm, isCritical, needsConfirmation, parseCommand } from './model.ts';

describe('the form of a command', () => {
  it('sends a text with all options of the API', () => {
    expect(parseCommand('text', { ...emptyForm('text'), text: ' Call the depot ' })).toEqual({
      params: {
        text: 'Call the depot',
        options: {
          emergency: false,
          display_by_terminal: true,
          tts: true,
          display_by_advertising_screen: false,
          central_navigation_info: false,
        },
      },
    });
  });

  it('refuses an empty text and a number out of range', () => {
    expect(parseCommand('text', emptyForm('text'))).toEqual({ faults: { text: 'required' } });
    expect(parseCommand('capture', { ...emptyForm('capture'), quality: '11' })).toEqual({
      faults: { quality: 'number' },
    });
  });

  it('reads parameters as one id and value in each line', () => {
    const parameters = '0x0055 = 90\n19 = fleet.example\n0x0001=hex:0000003c';
    expect(parseCommand('set_parameters', { parameters })).toEqual({
      params: {
        parameters: [
          { id: 0x55, value: 90 },
          { id: 19, value: 'fleet.example' },
          { id: 1, value_hex: '0000003c' },
        ],
      },
    });
    expect(parseCommand('set_parameters', { parameters: 'speed is 90' })).toEqual({ faults: { parameters: 'lines' } });
  });

  it('refuses a recording that ends before it starts', () => {
    const form = { ...emptyForm('upload'), start_time: '2026-01-22T11:40', end_time: '2026-01-22T11:30' };
    expect(parseCommand('upload', form)).toEqual({ faults: { end_time: 'order' } });
  });

  it('leaves optional texts out', () => {
    expect(parseCommand('control', emptyForm('control'))).toEqual({ params: { command: 4 } });
  });
});

describe('a critical command', () => {
  it.each([
    ['control', { command: 5 }, true],
    ['control', { command: 4 }, false],
    ['raw', { message_id: '0x8100' }, true],
    ['set_parameters', { parameters: [{ id: 0x13, value: 'x' }] }, true],
    ['set_parameters', { parameters: [{ id: 0x55, value: 90 }] }, false],
    ['text', { text: 'x' }, false],
  ] as const)('is found among %s commands by %j', (type, params, expected) => {
    expect(isCritical(type, params)).toBe(expected);
  });

  it('needs a confirmation like every change of the vehicle, unlike a text', () => {
    expect((['control', 'vehicle_control', 'raw', 'text', 'locate'] as const).filter(needsConfirmation)).toEqual([
      'control',
      'vehicle_control',
      'raw',
    ]);
  });
});
