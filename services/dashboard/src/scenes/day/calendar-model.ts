import type { components } from '@fleet/api-client';
import { addDays } from '../../common/timeline/time-scale.ts';

export type DaySummary = components['schemas']['DaySummary'];

const daysPerWeek = 7;

export const toMonth = (date: string): string => date.slice(0, 7);

/** Returns the date a number of months later; the last day of a shorter month. */
export function addMonths(date: string, months: number): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  const lastDay = new Date(Date.UTC(year, month + months, 0)).getUTCDate();
  return new Date(Date.UTC(year, month - 1 + months, Math.min(day, lastDay))).toISOString().slice(0, 10);
}

/** Returns the days after the Monday of a date's week. */
const getWeekday = (date: string): number => (new Date(date).getUTCDay() + daysPerWeek - 1) % daysPerWeek;

/** Returns the weeks of a month, from Monday; null for days of other months. */
export function getWeeks(month: string): (string | null)[][] {
  const first = `${month}-01`;
  const monday = addDays(first, -getWeekday(first));
  const weeks: (string | null)[][] = [];
  for (let start = monday; start < addMonths(first, 1); start = addDays(start, daysPerWeek)) {
    const dates = Array.from({ length: daysPerWeek }, (_, index) => addDays(start, index));
    weeks.push(dates.map((date) => (toMonth(date) === month ? date : null)));
  }
  return weeks;
}

/** Returns the date to which a key moves; null for other keys. */
export function moveDate(date: string, key: string): string | null {
  switch (key) {
    case 'ArrowLeft':
      return addDays(date, -1);
    case 'ArrowRight':
      return addDays(date, 1);
    case 'ArrowUp':
      return addDays(date, -daysPerWeek);
    case 'ArrowDown':
      return addDays(date, daysPerWeek);
    case 'Home':
      return addDays(date, -getWeekday(date));
    case 'End':
      return addDays(date, daysPerWeek - 1 - getWeekday(date));
    case 'PageUp':
      return addMonths(date, -1);
    case 'PageDown':
      return addMonths(date, 1);
    default:
      return null;
  }
}

export const countEvents = ({ events }: DaySummary): number => events.critical + events.warning + events.info;
