import { ActionIcon, Group, Popover } from '@mantine/core';
import { IconCalendar, IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../../../common/format/preferences-context.ts';
import { Failure, Loading } from '../../../common/ui/states.tsx';
import { addMonths, countEvents, type DaySummary, getWeeks, moveDate, toMonth } from '../calendar-model.ts';
import { useDays } from '../queries.ts';

interface DayCalendarProps {
  readonly vehicleId: number;
  readonly date: string;
  readonly today: string;
  readonly onDate: (date: string) => void;
}

/** Offers the days of a month, and shows which of them have data. */
export function DayCalendar(props: DayCalendarProps) {
  const { t } = useTranslation('day');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <Popover opened={isOpen} onChange={setIsOpen} position="bottom-start" trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon variant="default" size={30} aria-label={t('calendar.open')} onClick={() => setIsOpen(!isOpen)}>
          <IconCalendar size={18} />
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('calendar.title')}>
        <Month
          {...props}
          onDate={(date) => {
            setIsOpen(false);
            props.onDate(date);
          }}
        />
      </Popover.Dropdown>
    </Popover>
  );
}

function Month({ vehicleId, date, today, onDate }: DayCalendarProps) {
  const { t, i18n } = useTranslation('day');
  const [current, setCurrent] = useState(date < today ? date : today);
  const month = toMonth(current);
  const days = useDays(vehicleId, month);
  const move = (next: string): void => setCurrent(next < today ? next : today);
  const title = new Intl.DateTimeFormat(i18n.language, { month: 'long', year: 'numeric', timeZone: 'UTC' });
  return (
    <div className="day-calendar">
      <Group justify="space-between" wrap="nowrap">
        <ActionIcon
          variant="default"
          size={30}
          aria-label={t('calendar.previous')}
          onClick={() => move(addMonths(current, -1))}
        >
          <IconChevronLeft size={18} />
        </ActionIcon>
        <strong aria-live="polite">{title.format(new Date(current))}</strong>
        <ActionIcon
          variant="default"
          size={30}
          aria-label={t('calendar.next')}
          disabled={month >= toMonth(today)}
          onClick={() => move(addMonths(current, 1))}
        >
          <IconChevronRight size={18} />
        </ActionIcon>
      </Group>
      <Days days={days.data ?? []} current={current} date={date} today={today} onMove={move} onDate={onDate} />
      {days.isPending ? <Loading /> : null}
      {days.isError ? <Failure error={days.error} onRetry={() => void days.refetch()} /> : null}
      {days.data === undefined ? null : <Facts days={days.data} date={current} />}
    </div>
  );
}

/** Returns a function that says what data a day has: "18 km, 3 events". */
function useDescribeDay(): (day: DaySummary | undefined) => string {
  const { t } = useTranslation('day');
  const format = useFormat();
  return (day) => {
    if (day === undefined) return t('calendar.noData');
    const count = (key: 'events' | 'media' | 'recordings', value: number): string[] =>
      value === 0 ? [] : [t(`calendar.${key}`, { count: value })];
    const counts = [
      ...count('events', countEvents(day)),
      ...count('media', day.media),
      ...count('recordings', day.recordings),
    ];
    // A day may have nothing but a trip without distance.
    const hasDistance = day.distance_km > 0 || counts.length === 0;
    return [...(hasDistance ? [format.distance(day.distance_km)] : []), ...counts].join(', ');
  };
}

function Facts({ days, date }: { days: readonly DaySummary[]; date: string }) {
  const { t } = useTranslation('day');
  const describe = useDescribeDay();
  const day = days.find((each) => each.date === date);
  return <p className="day-hint">{days.length === 0 ? t('calendar.empty') : `${date}: ${describe(day)}`}</p>;
}

interface DaysProps extends Omit<DayCalendarProps, 'vehicleId'> {
  readonly days: readonly DaySummary[];
  /** The date that has the focus when the grid has it. */
  readonly current: string;
  readonly onMove: (date: string) => void;
}

/** Shows the days as a grid in which the arrows, Home, End, Page Up and Page Down move. */
function Days({ days, current, date, today, onMove, onDate }: DaysProps) {
  const { t, i18n } = useTranslation('day');
  const describe = useDescribeDay();
  const focused = useRef<HTMLButtonElement>(null);
  const isMoved = useRef(false);
  useEffect(() => {
    if (isMoved.current) focused.current?.focus();
    isMoved.current = false;
  }, [current]);
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = event.ctrlKey || event.metaKey || event.altKey ? null : moveDate(current, event.key);
    if (next === null) return;
    event.preventDefault();
    isMoved.current = true;
    onMove(next);
  };
  const longDate = new Intl.DateTimeFormat(i18n.language, { dateStyle: 'long', timeZone: 'UTC' });
  const toCell = (cell: string | null, index: number) => {
    if (cell === null) return <td key={index} />;
    const day = days.find((each) => each.date === cell);
    return (
      <td key={index} aria-selected={cell === date}>
        <button
          type="button"
          ref={cell === current ? focused : null}
          tabIndex={cell === current ? 0 : -1}
          data-autofocus={cell === current || undefined}
          aria-label={`${longDate.format(new Date(cell))}, ${describe(day)}`}
          disabled={cell > today}
          data-has={day === undefined ? undefined : day.events.critical > 0 ? 'critical' : 'data'}
          onClick={() => onDate(cell)}
        >
          {Number(cell.slice(8))}
        </button>
      </td>
    );
  };
  return (
    <table role="grid" aria-label={t('calendar.title')} onKeyDown={onKeyDown}>
      <WeekdayNames />
      <tbody>
        {getWeeks(toMonth(current)).map((week, index) => (
          <tr key={index}>{week.map(toCell)}</tr>
        ))}
      </tbody>
    </table>
  );
}

/** A week from Monday. */
const [sampleWeek = []] = getWeeks('2027-02');

function WeekdayNames() {
  const { i18n } = useTranslation();
  const name = (cell: string | null, weekday: 'long' | 'narrow'): string =>
    new Intl.DateTimeFormat(i18n.language, { weekday, timeZone: 'UTC' }).format(new Date(cell ?? 0));
  return (
    <thead>
      <tr>
        {sampleWeek.map((cell) => (
          <th key={cell} scope="col" abbr={name(cell, 'long')}>
            {name(cell, 'narrow')}
          </th>
        ))}
      </tr>
    </thead>
  );
}
