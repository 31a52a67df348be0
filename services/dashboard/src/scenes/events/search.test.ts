import { describe, expect, it } from '@jest/globals';
import { hasFilters, parseEventsSearch } from './search.ts';

describe('the address of the event inbox', () => {
  it('keeps valid filters', () => {
    const search = {
      status: 'all',
      severity: 'critical',
      type: 'sos',
      group: 3,
      vehicle: 7,
      from: '2026-01-22',
      q: 12,
    };
    expect(parseEventsSearch(search)).toEqual({ ...search, q: '12' });
  });

  it('drops invalid values and defaults', () => {
    const search = { status: 'open', severity: 'fatal', type: 'A b', group: -1, from: 'today', q: '', page: 1 };
    expect(parseEventsSearch(search)).toEqual({});
  });

  it('has filters beside the status and the page', () => {
    expect([{ status: 'all', page: 2 } as const, { vehicle: 7 }].map(hasFilters)).toEqual([false, true]);
  });
});
