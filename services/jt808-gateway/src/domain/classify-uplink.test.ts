import { allMessages } from '@fleet/jt808';
import { describe, expect, it } from '@jest/globals';
import { classifyUplink } from './classify-uplink.ts';

describe('classifyUplink', () => {
  it.each([
    [0x0002, 'heartbeat'],
    [0x0200, 'location'],
    [0x0704, 'location'],
    [0x0702, 'event'],
    [0x1206, 'event'],
    [0x1212, 'event'],
    [0x0104, 'response'],
    [0x1205, 'response'],
    [0x0001, 'unknown'],
    [0x7fff, 'unknown'],
  ])('classifies 0x%s as %s', (id, kind) => {
    expect(classifyUplink(id)).toBe(kind);
  });

  it('classifies every uplink message of the codec except those of other handlers', () => {
    const unknown = allMessages.filter(({ id, from }) => from === 'terminal' && classifyUplink(id) === 'unknown');
    expect(unknown.map(({ id }) => id).sort((a, b) => a - b)).toEqual([0x0001, 0x0004, 0x0100, 0x0102]);
  });
});
