import { describe, expect, it } from '@jest/globals';
import { formatAge, formatExact } from './age.ts';

const options = { language: 'en', timeZone: 'Asia/Kolkata', isTwelveHours: false };
const now = Date.UTC(2026, 0, 22, 12, 0, 0);

describe('the age of a value', () => {
  it.each([
    [now - 3_000, '3 sec'],
    [now - 4 * 60_000, '4 min'],
    [now - 3 * 3_600_000, '14:30'],
    [now - 26 * 3_600_000, 'Jan 21, 2026, 15:30'],
  ])('of %d is %s', (time, text) => {
    expect(formatAge(time, now, options)).toBe(text);
  });

  it('is never negative, although clocks of terminals differ', () => {
    expect(formatAge(now + 5_000, now, options)).toBe('0 sec');
  });

  it('has an exact form with the zone of the user', () => {
    expect(formatExact(now, options)).toMatch(/^Jan 22, 2026, 17:30:00 GMT\+5:30$/);
  });
});
