import { describe, expect, it } from '@jest/globals';
import { getResponseMatcher, hasReplySerial } from './response-matching.ts';

const always = { matchBy: 'serial', general: 'always' };
const query = { matchBy: 'serial', general: 'unlessWorking' };

describe('getResponseMatcher', () => {
  it.each([
    ['0x9101, which has no specific response', 0x9101, { ...always, specificId: null }],
    ['0x9206, whose 0x1206 is an event', 0x9206, { ...always, specificId: null }],
    ['0x9201', 0x9201, { ...always, specificId: 0x1205 }],
    ['0x9205', 0x9205, { ...query, specificId: 0x1205 }],
    ['0x8801', 0x8801, { ...always, specificId: 0x0805 }],
    ['0x8500', 0x8500, { ...always, specificId: 0x0500 }],
    ['0x8104', 0x8104, { ...query, specificId: 0x0104 }],
    ['0x8106', 0x8106, { ...query, specificId: 0x0104 }],
    ['0x8107, whose response has no serial', 0x8107, { ...query, specificId: 0x0107, matchBy: 'id' }],
    ['0x9003, whose response has no serial', 0x9003, { ...query, specificId: 0x1003, matchBy: 'id' }],
    ['0x8802, which is only sent as a raw command', 0x8802, { ...always, specificId: 0x0802 }],
    ['an id without a definition', 0x8fff, { ...always, specificId: null }],
  ])('returns the rules of %s', (_name, messageId, matcher) => {
    expect(getResponseMatcher(messageId, '2013')).toEqual(matcher);
  });

  it.each([
    ['2011', 'id'],
    ['2013', 'serial'],
    ['2019', 'serial'],
  ] as const)('matches the response to a location query of edition %s by %s', (edition, matchBy) => {
    expect(getResponseMatcher(0x8201, edition)).toEqual({ specificId: 0x0201, matchBy, general: 'always' });
  });
});

describe('hasReplySerial', () => {
  it.each([0x0104, 0x0500, 0x0700, 0x0802, 0x0805, 0x1205])('is true for 0x%s', (messageId) => {
    expect(hasReplySerial(messageId, '2013')).toBe(true);
  });

  it.each([0x0107, 0x0608, 0x1003, 0x7fff])('is false for 0x%s', (messageId) => {
    expect(hasReplySerial(messageId, '2013')).toBe(false);
  });
});
