import { describe, expect, it } from '@jest/globals';
import { isQuiet } from './quiet-hours.ts';

const at = (clock: string): number => Date.parse(`2026-01-22T${clock}:00Z`);
const night = { from: '22:00', to: '06:00' };

describe('quiet hours', () => {
  it.each([
    ['21:59', false],
    ['22:00', true],
    ['03:00', true],
    ['06:00', false],
  ])('over midnight: %s is %s', (clock, expected) => {
    expect(isQuiet(at(clock), night, 'UTC')).toBe(expected);
  });

  it('apply in the zone of the user', () => {
    expect(isQuiet(at('18:00'), night, 'Asia/Kolkata')).toBe(true);
    expect(isQuiet(at('18:00'), night, 'UTC')).toBe(false);
  });

  it('within one day end before their end, and do not exist by default', () => {
    const noon = { from: '12:00', to: '13:00' };
    expect(['11:59', '12:30', '13:00'].map((clock) => isQuiet(at(clock), noon, 'UTC'))).toEqual([false, true, false]);
    expect(isQuiet(at('12:30'), null, 'UTC')).toBe(false);
  });
});
