import { describe, expect, it } from '@jest/globals';
import { addMonths, getWeeks, moveDate } from './calendar-model.ts';

describe('the calendar of a month', () => {
  it('begins its weeks on Monday, and leaves days of other months empty', () => {
    const weeks = getWeeks('2026-01');
    expect(weeks).toHaveLength(5);
    expect(weeks[0]).toEqual([null, null, null, '2026-01-01', '2026-01-02', '2026-01-03', '2026-01-04']);
    expect(weeks[4]?.[5]).toBe('2026-01-31');
    expect(getWeeks('2027-02')).toHaveLength(4);
    expect(getWeeks('2026-02')).toHaveLength(5);
  });

  it('keeps the day in another month, or takes the last one', () => {
    expect(addMonths('2026-01-31', 1)).toBe('2026-02-28');
    expect(addMonths('2026-01-15', -1)).toBe('2025-12-15');
    expect(addMonths('2028-01-31', 1)).toBe('2028-02-29');
  });

  it.each([
    ['ArrowLeft', '2025-12-31'],
    ['ArrowRight', '2026-01-02'],
    ['ArrowUp', '2025-12-25'],
    ['ArrowDown', '2026-01-08'],
    ['Home', '2025-12-29'],
    ['End', '2026-01-04'],
    ['PageUp', '2025-12-01'],
    ['PageDown', '2026-02-01'],
    ['a', null],
  ])('moves from January 1 by %s to %s', (key, date) => {
    expect(moveDate('2026-01-01', key)).toBe(date);
  });
});
