import { describe, expect, it } from '@jest/globals';
import { type CommandType, parseParams } from './params.ts';
import { isCritical } from './rules.ts';

describe('isCritical', () => {
  it.each<[CommandType, Record<string, unknown>, boolean]>([
    ['control', { command: 1 }, true],
    ['control', { command: 2 }, true],
    ['control', { command: 5 }, true],
    ['control', { command: 4 }, false],
    ['raw', { message_id: '0x8900' }, true],
    ['set_parameters', { parameters: [{ id: 0x13, value: 'evil.example' }] }, true],
    ['set_parameters', { parameters: [{ id: 1, value: 30 }] }, false],
    ['text', { text: 'Hello' }, false],
  ])('returns for %s %j: %s', (type, params, expected) => {
    expect(isCritical(type, parseParams(type, params))).toBe(expected);
  });
});

describe('parameters of a command', () => {
  const clip = { channel: 1, start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T11:00:00+08:00' };

  it('include the defaults of the Device API and no unknown fields', () => {
    expect(parseParams('live_start', { channel: 1, colour: 'red' })).toEqual({
      channel: 1,
      data_type: 0,
      stream_type: 0,
    });
    expect(parseParams('resource_list', clip)).toMatchObject({
      resource_type: 3,
      stream_type: 0,
      memory_type: 0,
      alarm: 0,
    });
  });

  it.each<[CommandType, Record<string, unknown>]>([
    ['control', {}],
    ['control', { command: 256 }],
    ['text', { text: '' }],
    ['text', { text: 'a', options: { emergency: true } }],
    ['live_start', { channel: 1, stream_type: 2 }],
    ['live_start', { channel: 1, host: 'a b' }],
    ['capture', { channel: 0 }],
    ['upload', { ...clip, end_time: clip.start_time }],
    ['upload', { ...clip, wifi: false, lan: false, mobile_network: false }],
    ['resource_list', { ...clip, start_time: 'yesterday' }],
    ['set_parameters', { parameters: [] }],
    ['set_parameters', { parameters: [{ id: 1 }] }],
    ['set_parameters', { parameters: [{ id: 1, value: 'text' }] }],
    ['set_parameters', { parameters: [{ id: 1, value: 30, value_hex: '00' }] }],
    ['query_parameters', { ids: [-1] }],
    ['vehicle_control', { doors: 'open' }],
    ['raw', { message_id: '0x0200' }],
    ['raw', { message_id: '0x8100' }],
    ['raw', { message_id: '0x8900', body_hex: 'abc' }],
  ])('are rejected for %s %j', (type, params) => {
    expect(() => parseParams(type, params)).toThrow(expect.objectContaining({ code: 'validation_failed' }));
  });

  it.each<[CommandType, Record<string, unknown>, string, string]>([
    ['live_stop', {}, '/params/channel', 'The field params.channel is missing.'],
    [
      'live_stop',
      { channel: -0 },
      '/params/channel',
      'The field params.channel must be an integer, not negative zero.',
    ],
    [
      'set_parameters',
      { parameters: [{ id: -1 }] },
      '/params/parameters/0/id',
      'The field params.parameters.0.id must be from 0 to 4294967295.',
    ],
  ])('report the path of the fault in %s %j', (type, params, path, message) => {
    const details = [expect.objectContaining({ path })];
    expect(() => parseParams(type, params)).toThrow(expect.objectContaining({ details, message }));
  });
});
