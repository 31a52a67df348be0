/** A span of time in milliseconds since the epoch. */
export interface TimeSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A mark of the axis. */
interface Tick {
  readonly timeMs: number;
  /** Clock time, such as `09:00`. */
  readonly label: string;
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The offset of every zone is a multiple of it. */
const quarterMs = 15 * minuteMs;
/** The wheel zooms in to this span. */
const shortestSpanMs = 10 * secondMs;
const tickSteps = [
  ...[1, 2, 5, 10, 15, 30].map((seconds) => seconds * secondMs),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * minuteMs),
  ...[1, 2, 3, 6].map((hours) => hours * hourMs),
];

const formatters = new Map<string, Intl.DateTimeFormat>();

function getFormatter(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known !== undefined) return known;
  const parts = { year: 'numeric', month: '2-digit', day: '2-digit', hour: '2-digit', minute: '2-digit' } as const;
  const created = new Intl.DateTimeFormat('en-GB', { timeZone, hourCycle: 'h23', second: '2-digit', ...parts });
  formatters.set(timeZone, created);
  return created;
}

/** Returns the local time of a zone as if it were UTC, in milliseconds. */
function toLocalMs(timeMs: number, timeZone: string): number {
  const parts = Object.fromEntries(
    getFormatter(timeZone)
      .formatToParts(timeMs)
      .map(({ type, value }) => [type, value]),
  );
  const { year, month, day, hour, minute, second } = parts;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** Returns the offset of a zone from UTC at a time, in milliseconds. */
export const getOffsetMs = (timeMs: number, timeZone: string): number =>
  toLocalMs(timeMs, timeZone) - Math.floor(timeMs / secondMs) * secondMs;

/** Returns an offset such as `+5:30`. */
export function formatOffset(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / minuteMs);
  return `${offsetMs < 0 ? '-' : '+'}${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
}

/** Returns the milliseconds of an offset such as `+08:00`; null for other texts. */
export function parseOffset(text: string): number | null {
  const match = /^([+-])(\d{1,2}):(\d{2})$/.exec(text);
  if (match === null) return null;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return (match[1] === '-' ? -minutes : minutes) * minuteMs;
}

/** Returns the calendar date of a time in a zone, such as `2026-01-22`. */
export const getDateOf = (timeMs: number, timeZone: string): string =>
  new Date(toLocalMs(timeMs, timeZone)).toISOString().slice(0, 10);

/** Returns true for an existing calendar date such as `2026-01-22`. */
export const isDate = (text: string): boolean =>
  /^\d{4}-\d{2}-\d{2}$/.test(text) &&
  !Number.isNaN(Date.parse(text)) &&
  new Date(text).toISOString().slice(0, 10) === text;

/** Returns the date a number of days later. */
export const addDays = (date: string, days: number): string =>
  new Date(Date.parse(date) + days * dayMs).toISOString().slice(0, 10);

/** Returns the first moment of a date in a zone. A zone may skip midnight. */
function getStartOfDate(date: string, timeZone: string): number {
  const localMs = Date.parse(date);
  // The earliest and the latest zones differ by 26 hours.
  for (let timeMs = localMs - 14 * hourMs; ; timeMs += quarterMs)
    if (getDateOf(timeMs, timeZone) === date) return timeMs;
}

/** Returns the span of a date in a zone: 23 or 25 hours if the clock changes on it. */
export const getDaySpan = (date: string, timeZone: string): TimeSpan => ({
  fromMs: getStartOfDate(date, timeZone),
  toMs: getStartOfDate(addDays(date, 1), timeZone),
});

/** Returns a clock time with seconds, such as `11:42:10`. */
export const formatClockTime = (timeMs: number, timeZone: string): string =>
  new Date(toLocalMs(timeMs, timeZone)).toISOString().slice(11, 19);

export const getLengthMs = ({ fromMs, toMs }: TimeSpan): number => toMs - fromMs;

export const clampTime = (timeMs: number, { fromMs, toMs }: TimeSpan): number =>
  Math.min(Math.max(timeMs, fromMs), toMs);

/** Returns the position of a time in a bar of this width. */
export const toX = (timeMs: number, span: TimeSpan, width: number): number =>
  ((timeMs - span.fromMs) / getLengthMs(span)) * width;

/** Returns the time at a position in a bar of this width. */
export const toTimeMs = (x: number, span: TimeSpan, width: number): number =>
  span.fromMs + (x / width) * getLengthMs(span);

/** Moves a span so that it lies within its limits. */
function fitInto(span: TimeSpan, limits: TimeSpan): TimeSpan {
  const lengthMs = Math.min(getLengthMs(span), getLengthMs(limits));
  const fromMs = Math.min(Math.max(span.fromMs, limits.fromMs), limits.toMs - lengthMs);
  return { fromMs, toMs: fromMs + lengthMs };
}

/** Zooms by a factor: the time at `aroundMs` keeps its place. The limits are the day and ten seconds. */
export function zoomSpan(span: TimeSpan, limits: TimeSpan, aroundMs: number, factor: number): TimeSpan {
  const lengthMs = Math.min(Math.max(getLengthMs(span) * factor, shortestSpanMs), getLengthMs(limits));
  const part = (aroundMs - span.fromMs) / getLengthMs(span);
  const fromMs = aroundMs - part * lengthMs;
  return fitInto({ fromMs, toMs: fromMs + lengthMs }, limits);
}

/** Moves a span by a time, within its limits. */
export const panSpan = ({ fromMs, toMs }: TimeSpan, limits: TimeSpan, deltaMs: number): TimeSpan =>
  fitInto({ fromMs: fromMs + deltaMs, toMs: toMs + deltaMs }, limits);

/** Returns at most this many marks at even local times. An hour that the clock repeats has its mark twice. */
export function getTicks(span: TimeSpan, timeZone: string, maxCount: number): Tick[] {
  const lengthMs = getLengthMs(span);
  const step = tickSteps.find((candidate) => lengthMs / candidate <= maxCount) ?? 6 * hourMs;
  const scanMs = Math.min(step, quarterMs);
  const ticks: Tick[] = [];
  for (let timeMs = Math.ceil(span.fromMs / scanMs) * scanMs; timeMs < span.toMs; timeMs += scanMs) {
    const localMs = toLocalMs(timeMs, timeZone);
    if (localMs % step !== 0) continue;
    const clock = new Date(localMs).toISOString();
    ticks.push({ timeMs, label: step < minuteMs ? clock.slice(11, 19) : clock.slice(11, 16) });
  }
  return ticks;
}
