import { describe, expect, it } from '@jest/globals';
import { applyResult } from './command-worker.ts';
import { type CommandType, parseParams } from './params.ts';
import { type AttemptResult, isCritical, isRepeatable, maxAttempts } from './rules.ts';
import type { Command } from './schema.ts';

const now = new Date('2026-06-01T00:00:00Z');
const createCommand = (type: CommandType, attempts = 0): Command =>
  ({ type, attempts, maxAttempts: maxAttempts(type), sentAt: null }) as unknown as Command;
const end = (type: CommandType, ending: AttemptResult, attempts = 0) =>
  applyResult(createCommand(type, attempts), ending, undefined, now);

describe('result of an attempt', () => {
  it.each<CommandType>([
    'wakeup',
    'live_stop',
    'resource_list',
    'query_parameters',
    'query_attributes',
    'locate',
    'set_parameters',
  ])('queues %s again without a response, until its tenth attempt', (type) => {
    expect(isRepeatable(type)).toBe(true);
    const first = end(type, { kind: 'unanswered' });
    expect(first).toMatchObject({ status: 'queued', attempts: 1, flight: null });
    expect(first.notBefore?.getTime()).toBeGreaterThan(now.getTime());
    expect(end(type, { kind: 'unanswered' }, 8)).toMatchObject({ status: 'queued', attempts: 9 });
    expect(end(type, { kind: 'unanswered' }, 9)).toMatchObject({ status: 'failed', error: 'unanswered', attempts: 10 });
  });

  it.each<CommandType>(['control', 'text', 'vehicle_control', 'capture', 'upload', 'live_start', 'raw'])(
    'fails %s without a response, because it must not be executed twice',
    (type) => {
      expect(maxAttempts(type)).toBe(1);
      const change = end(type, { kind: 'unanswered' });
      expect(change).toMatchObject({ status: 'failed', error: 'unanswered', attempts: 1, completedAt: now });
    },
  );

  it('does not count as an attempt if nothing was sent', () => {
    const change = end('text', { kind: 'notSent', retryMs: 5_000 });
    expect(change).toEqual({ flight: null, status: 'queued', notBefore: new Date(now.getTime() + 5_000) });
    const wakeUp = end('wakeup', { kind: 'notSent', retryMs: 5_000 });
    expect(wakeUp.notBefore).toEqual(new Date(now.getTime() + 60_000));
    const unavailable = { kind: 'notSent', retryMs: 5_000, isOfDevice: true } as const;
    expect(end('text', unavailable)).toEqual({ flight: null, status: 'queued', notBefore: null });
    expect(end('wakeup', unavailable).notBefore).toEqual(new Date(now.getTime() + 60_000));
  });

  it('counts as an attempt once the socket has accepted the bytes, whatever is reported later', () => {
    const ending = { kind: 'notSent', retryMs: 5_000 } as const;
    const recorded = { ...createCommand('text'), status: 'sent' } as const;
    expect(applyResult(recorded, ending)).toMatchObject({ status: 'failed', error: 'unanswered', attempts: 1 });
    const sent = { messageId: 0x8300, serialNo: 7 };
    expect(applyResult(createCommand('raw'), ending, sent)).toMatchObject({
      status: 'failed',
      error: 'unanswered',
      serial: 7,
    });
    expect(applyResult(createCommand('locate'), ending, sent)).toMatchObject({
      status: 'queued',
      attempts: 1,
      flight: null,
    });
  });

  it('leaves the command in flight if the outcome is unknown', () => {
    expect(Object.keys(end('text', { kind: 'unknown' }))).toEqual(['notBefore']);
  });

  it('acknowledges the command only on success', () => {
    const response = { kind: 'answered', messageId: '0x8300', serial: 7, response: { a: 1 } } as const;
    expect(end('text', { ...response, result: 'success' })).toMatchObject({
      status: 'acknowledged',
      result: 'success',
      serial: 7,
      answer: '{"a":1}',
    });
    expect(end('text', { ...response, result: 'unsupported' })).toMatchObject({
      status: 'failed',
      error: 'refused',
      result: 'unsupported',
    });
    const unreadable = { kind: 'failed', error: 'unreadable', message: 'cut' } as const;
    expect(end('locate', unreadable)).toMatchObject({ status: 'failed', error: 'unreadable', errorMessage: 'cut' });
  });
});

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
