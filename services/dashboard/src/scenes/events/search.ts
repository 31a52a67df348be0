import { type Severity, toSeverity } from '../../common/ui/marks.tsx';

/** State of the event inbox in its address. */
export interface EventsSearch {
  readonly severity?: Severity;
  readonly vehicle?: number;
  readonly event?: number;
  readonly page?: number;
}

const readId = (value: unknown): number | undefined =>
  Number.isInteger(value) && (value as number) > 0 ? (value as number) : undefined;

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseEventsSearch(search: Record<string, unknown>): EventsSearch {
  const { severity } = search;
  const [vehicle, event, page] = [readId(search['vehicle']), readId(search['event']), readId(search['page'])];
  return {
    ...(typeof severity === 'string' && toSeverity(severity) === severity ? { severity } : {}),
    ...(vehicle === undefined ? {} : { vehicle }),
    ...(event === undefined ? {} : { event }),
    ...(page === undefined || page === 1 ? {} : { page }),
  };
}
