import { describe, expect, it } from '@jest/globals';
import { formatMessageId, isAccepted, toGeneralResponse, unwrapResponse } from './outcome.ts';

const response = { commandMessageId: 0x9101, commandSerialNo: 3, result: 0, message: null };

describe('formatMessageId', () => {
  it.each([
    [0x9101, '0x9101'],
    [0x8a0b, '0x8a0b'],
    [0x0001, '0x0001'],
  ])('of %i is %s', (id, formatted) => {
    expect(formatMessageId(id)).toBe(formatted);
  });
});

describe('unwrapResponse', () => {
  it('returns the response of the device', () => {
    expect(unwrapResponse({ kind: 'answered', answer: response })).toEqual(response);
  });

  it.each([
    [{ kind: 'notConnected' } as const, 404],
    [{ kind: 'timedOut' } as const, 504],
    [{ kind: 'unreadable', detail: 'x' } as const, 502],
    [{ kind: 'refused', detail: 'x' } as const, 400],
    [{ kind: 'refused', detail: 'x', isOurFault: true } as const, 500],
    [{ kind: 'busy', detail: 'x' } as const, 429],
    [{ kind: 'brokerAway' } as const, 503],
  ])('throws for %j the status %i', (outcome, status) => {
    expect(() => unwrapResponse(outcome)).toThrow(expect.objectContaining({ status }));
  });
});

describe('toGeneralResponse', () => {
  it('names the result', () => {
    expect(toGeneralResponse({ kind: 'answered', answer: { ...response, result: 2 } })).toEqual({
      responseId: '0x9101',
      result: 'incorrectInfo',
    });
  });

  it.each([4, 5, 255, null])('throws 502 for the result %p', (result) => {
    expect(() => toGeneralResponse({ kind: 'answered', answer: { ...response, result } })).toThrow(
      expect.objectContaining({ status: 502 }),
    );
  });
});

describe('isAccepted', () => {
  it('is true only for a response with success', () => {
    expect(isAccepted({ kind: 'answered', answer: response })).toBe(true);
    expect(isAccepted({ kind: 'answered', answer: { ...response, result: 1 } })).toBe(false);
    expect(isAccepted({ kind: 'timedOut' })).toBe(false);
  });
});
