import { isDate } from '../../common/timeline/time-scale.ts';
import { type Severity, toSeverity } from '../../common/ui/severity.ts';

export const statuses = ['open', 'acknowledged', 'all'] as const;
export type Status = (typeof statuses)[number];

/** State of the event inbox in its address. Defaults are left out. */
export interface EventsSearch {
  /** Default: `open`. */
  readonly status?: Exclude<Status, 'open'>;
  readonly severity?: Severity;
  readonly type?: string;
  readonly group?: number;
  readonly vehicle?: number;
  /** Days in the user's zone, such as 2026-01-22; both are included. */
  readonly from?: string;
  readonly to?: string;
  readonly q?: string;
  readonly page?: number;
}

const readId = (value: unknown): number | undefined =>
  Number.isInteger(value) && (value as number) > 0 ? (value as number) : undefined;
const readDate = (value: unknown): string | undefined =>
  typeof value === 'string' && isDate(value) ? value : undefined;
/** The router reads a text of digits as a number. */
const readText = (value: unknown): string | undefined =>
  (typeof value === 'string' && value !== '') || typeof value === 'number' ? String(value).slice(0, 200) : undefined;

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseEventsSearch(search: Record<string, unknown>): EventsSearch {
  const { status, severity, type } = search;
  const page = readId(search['page']);
  const found = {
    status: status === 'acknowledged' || status === 'all' ? status : undefined,
    severity: typeof severity === 'string' && toSeverity(severity) === severity ? severity : undefined,
    type: typeof type === 'string' && /^[a-z0-9_]{1,60}$/.test(type) ? type : undefined,
    group: readId(search['group']),
    vehicle: readId(search['vehicle']),
    from: readDate(search['from']),
    to: readDate(search['to']),
    q: readText(search['q']),
    page: page === 1 ? undefined : page,
  };
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

/** Returns whether a filter beside the status is set. */
export const hasFilters = ({ status: _status, page: _page, ...filters }: EventsSearch): boolean =>
  Object.keys(filters).length > 0;
