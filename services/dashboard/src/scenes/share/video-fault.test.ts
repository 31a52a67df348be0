import { describe, expect, it } from '@jest/globals';
import { toEndFault, toVideoFault } from './video-fault.ts';

describe('a refused stream', () => {
  it.each([
    [403, undefined, 'forbidden'],
    [404, undefined, 'offline'],
    [429, undefined, 'busy'],
    [429, 'data_budget_spent', 'budget'],
    [502, undefined, 'refused'],
    [504, undefined, 'asleep'],
  ])('with status %i and code %s has the fault %s', (status, code, fault) => {
    expect(toVideoFault(status, code)).toBe(fault);
  });

  it.each([null, 401, 410, 503])('with status %s is requested again', (status) => {
    expect(toVideoFault(status)).toBeNull();
  });
});

describe('a stream that ended', () => {
  const stopped = (code: string) => ({ status: 'stopped' as const, reason: { code, text: '' } });

  it('says that the owner stopped it, or that the data budget is spent', () => {
    expect(toEndFault(stopped('stopped') as never)).toBe('stopped');
    expect(toEndFault(stopped('data_budget_spent') as never)).toBe('budget');
  });

  it('is started again after a lost connection', () => {
    expect(toEndFault(stopped('connection_lost') as never)).toBeNull();
    expect(toEndFault({ status: 'streaming', reason: null } as never)).toBeNull();
  });
});
