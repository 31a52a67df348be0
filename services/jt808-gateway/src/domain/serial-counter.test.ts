import { describe, expect, it } from '@jest/globals';
import { SerialCounter } from './serial-counter.ts';

describe('SerialCounter', () => {
  it('wraps at 0xFFFF', () => {
    const serials = new SerialCounter(0xfffe);
    expect([serials.nextSerial(), serials.nextSerial(), serials.nextSerial()]).toEqual([0xfffe, 0xffff, 0]);
  });

  it('skips reserved serials until they are released', () => {
    const serials = new SerialCounter(0xffff);
    serials.reserve(0xffff);
    serials.reserve(0);
    serials.reserve(0);
    expect(serials.nextSerial()).toBe(1);
    serials.release(0);
    serials.advanceTo(0);
    expect(serials.nextSerial()).toBe(2 - 1);
    serials.release(0);
    serials.advanceTo(0);
    expect(serials.nextSerial()).toBe(0);
  });

  it('returns consecutive serials for the parts of a message, without reserved ones', () => {
    const serials = new SerialCounter(10);
    serials.reserve(12);
    expect(serials.nextSerialRange(3)).toBe(13);
    expect(serials.peek).toBe(16);
  });

  it('returns a range across the wrap', () => {
    const serials = new SerialCounter(0xffff);
    expect(serials.nextSerialRange(3)).toBe(0xffff);
    expect(serials.peek).toBe(2);
  });
});
