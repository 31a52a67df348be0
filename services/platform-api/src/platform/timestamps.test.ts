import { describe, expect, it } from '@jest/globals';
import { parseTimestamp } from './timestamps.ts';

describe('parseTimestamp', () => {
  it.each([
    ['2026-01-31T08:15:30Z', '2026-01-31T08:15:30.000Z'],
    ['2026-01-31T08:15:30.25+08:00', '2026-01-31T00:15:30.250Z'],
    ['2026-01-31T08:15:30 08:00', '2026-01-31T00:15:30.000Z'],
    ['1769847330000', '2026-01-31T08:15:30.000Z'],
    ['0', '1970-01-01T00:00:00.000Z'],
  ])('parses %s as %s', (text, expected) => {
    expect(parseTimestamp(text, 'from')?.toISOString()).toBe(expected);
  });

  it.each([
    '',
    'yesterday',
    '2026-01-31',
    '2026-02-30T00:00:00Z',
    '2026-01-31T25:00:00Z',
    '-1',
    '1e12',
    '9'.repeat(16),
  ])('rejects %p', (text) => {
    expect(() => parseTimestamp(text, 'from')).toThrow(expect.objectContaining({ code: 'bad_date' }));
  });

  it('returns undefined without a value', () => {
    expect(parseTimestamp(undefined, 'from')).toBeUndefined();
  });
});
