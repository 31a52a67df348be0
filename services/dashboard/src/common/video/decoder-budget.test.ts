import { describe, expect, it } from '@jest/globals';
import { type Decoder, DecoderBudget, findDecoderLimit } from './decoder-budget.ts';

class FakeDecoder implements Decoder {
  isParked = false;
  total = 0;
  dropped = 0;
  park(): void {
    this.isParked = true;
  }
  countFrames() {
    return { total: this.total, dropped: this.dropped };
  }
  play(total: number, dropped: number): void {
    this.total += total;
    this.dropped += dropped;
  }
}

const newDecoders = (count: number): FakeDecoder[] => Array.from({ length: count }, () => new FakeDecoder());

describe('the decoder budget', () => {
  it('depends on the device', () => {
    expect(findDecoderLimit({ isPhone: false, cores: 8 })).toBe(16);
    expect(findDecoderLimit({ isPhone: false, cores: 2 })).toBe(9);
    expect(findDecoderLimit({ isPhone: true, cores: 8 })).toBe(4);
  });

  it('refuses further tiles, unless the user wants one: then the least recently used is parked', () => {
    const budget = new DecoderBudget(() => 2);
    const [first, second, third] = newDecoders(3) as [FakeDecoder, FakeDecoder, FakeDecoder];
    expect([first, second, third].map((each) => budget.admit(each, { isWanted: false }))).toEqual([true, true, false]);
    budget.touch(first);
    expect(budget.admit(third, { isWanted: true })).toBe(true);
    expect([first.isParked, second.isParked]).toEqual([false, true]);
    expect(budget.size).toBe(2);
    budget.release(first);
    expect(budget.admit(second, { isWanted: false })).toBe(true);
  });

  it('parks a tile after two windows with more than 15 % dropped pictures', () => {
    const budget = new DecoderBudget(() => 16);
    const decoders = newDecoders(6);
    for (const decoder of decoders) budget.admit(decoder, { isWanted: false });
    const runWindow = (dropped: number): void => {
      for (const decoder of decoders) decoder.play(100, dropped);
      budget.check();
    };
    runWindow(20);
    runWindow(10);
    runWindow(20);
    expect(decoders.some(({ isParked }) => isParked)).toBe(false);
    runWindow(20);
    expect(decoders.map(({ isParked }) => isParked)).toEqual([true, false, false, false, false, false]);
  });

  it('never parks the last four tiles for dropped pictures', () => {
    const budget = new DecoderBudget(() => 16);
    const decoders = newDecoders(4);
    for (const decoder of decoders) budget.admit(decoder, { isWanted: false });
    for (let window = 0; window < 5; window += 1) {
      for (const decoder of decoders) decoder.play(10, 10);
      budget.check();
    }
    expect(decoders.some(({ isParked }) => isParked)).toBe(false);
  });
});
