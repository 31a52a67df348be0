import { describe, expect, it } from '@jest/globals';
import { applyResult } from './apply-result.ts';
import type { CommandType } from './params.ts';
import { type AttemptResult, isRepeatable, maxAttempts } from './rules.ts';
import type { Command } from './schema.ts';

const now = new Date('2026-06-01T00:00:00Z');
const createCommand = (type: CommandType, attempts = 0): Command =>
  ({ type, attempts, maxAttempts: maxAttempts(type), sentAt: null }) as unknown as Command;
const applyTo = (type: CommandType, result: AttemptResult, attempts = 0) =>
  applyResult(createCommand(type, attempts), result, undefined, now);

describe('applyResult', () => {
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
    const first = applyTo(type, { kind: 'unanswered' });
    expect(first).toMatchObject({ status: 'queued', attempts: 1, flight: null });
    expect(first.notBefore?.getTime()).toBeGreaterThan(now.getTime());
    expect(applyTo(type, { kind: 'unanswered' }, 8)).toMatchObject({ status: 'queued', attempts: 9 });
    expect(applyTo(type, { kind: 'unanswered' }, 9)).toMatchObject({
      status: 'failed',
      error: 'unanswered',
      attempts: 10,
    });
  });

  it.each<CommandType>(['control', 'text', 'vehicle_control', 'capture', 'upload', 'live_start', 'raw'])(
    'fails %s without a response, because it must not be executed twice',
    (type) => {
      expect(maxAttempts(type)).toBe(1);
      const change = applyTo(type, { kind: 'unanswered' });
      expect(change).toMatchObject({ status: 'failed', error: 'unanswered', attempts: 1, completedAt: now });
    },
  );

  it('does not count as an attempt if nothing was sent', () => {
    const change = applyTo('text', { kind: 'notSent', retryMs: 5_000 });
    expect(change).toEqual({ flight: null, status: 'queued', notBefore: new Date(now.getTime() + 5_000) });
    const wakeUp = applyTo('wakeup', { kind: 'notSent', retryMs: 5_000 });
    expect(wakeUp.notBefore).toEqual(new Date(now.getTime() + 60_000));
    const unavailable = { kind: 'notSent', retryMs: 5_000, isOfDevice: true } as const;
    expect(applyTo('text', unavailable)).toEqual({ flight: null, status: 'queued', notBefore: null });
    expect(applyTo('wakeup', unavailable).notBefore).toEqual(new Date(now.getTime() + 60_000));
  });

  it('counts as an attempt once the socket has accepted the bytes, whatever is reported later', () => {
    const result = { kind: 'notSent', retryMs: 5_000 } as const;
    const recorded = { ...createCommand('text'), status: 'sent' } as const;
    expect(applyResult(recorded, result)).toMatchObject({ status: 'failed', error: 'unanswered', attempts: 1 });
    const sent = { messageId: 0x8300, serialNo: 7 };
    expect(applyResult(createCommand('raw'), result, sent)).toMatchObject({
      status: 'failed',
      error: 'unanswered',
      serial: 7,
    });
    expect(applyResult(createCommand('locate'), result, sent)).toMatchObject({
      status: 'queued',
      attempts: 1,
      flight: null,
    });
  });

  it('leaves the command in flight if the outcome is unknown', () => {
    expect(Object.keys(applyTo('text', { kind: 'unknown' }))).toEqual(['notBefore']);
  });

  it('acknowledges the command only on success', () => {
    const response = { kind: 'answered', messageId: '0x8300', serial: 7, response: { a: 1 } } as const;
    expect(applyTo('text', { ...response, result: 'success' })).toMatchObject({
      status: 'acknowledged',
      result: 'success',
      serial: 7,
      answer: '{"a":1}',
    });
    expect(applyTo('text', { ...response, result: 'unsupported' })).toMatchObject({
      status: 'failed',
      error: 'refused',
      result: 'unsupported',
    });
    const unreadable = { kind: 'failed', error: 'unreadable', message: 'cut' } as const;
    expect(applyTo('locate', unreadable)).toMatchObject({ status: 'failed', error: 'unreadable', errorMessage: 'cut' });
  });
});
