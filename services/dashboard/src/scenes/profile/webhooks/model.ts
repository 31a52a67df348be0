import type { components } from '@fleet/api-client';

type Attempt = components['schemas']['Attempt'];
type DeliveryDetails = components['schemas']['DeliveryDetails'];

type Outcome = Pick<Attempt, 'status_code' | 'error_code'>;

/** Kinds of outcomes, each with its own advice. */
type AdviceKey =
  | 'success'
  | 'redirect'
  | 'unauthorized'
  | 'notFound'
  | 'gone'
  | 'tooMany'
  | 'clientError'
  | 'serverError'
  | 'unknown'
  | NonNullable<Outcome['error_code']>;

const adviceOfStatus: Readonly<Record<number, AdviceKey>> = {
  401: 'unauthorized',
  403: 'unauthorized',
  404: 'notFound',
  410: 'gone',
  429: 'tooMany',
};

/** Returns the key of the advice for an attempt: what happened, and what the owner of the receiver can do. */
export function toAdviceKey({ status_code: status, error_code: error }: Outcome): AdviceKey {
  if (error !== null) return error;
  if (status === null) return 'unknown';
  const specific = adviceOfStatus[status];
  if (specific !== undefined) return specific;
  if (status < 300) return 'success';
  if (status < 400) return 'redirect';
  return status < 500 ? 'clientError' : 'serverError';
}

/** Returns an outcome in a few characters, such as `200` or `timeout`. */
export const toOutcomeText = ({ status_code: status, error_code: error }: Outcome): string =>
  error ?? (status === null ? '–' : String(status));

const quote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns the request of a delivery as a curl command. Secrets are masked in it, as the API returns them. */
export function toCurl(url: string, request: NonNullable<DeliveryDetails['request']>): string {
  const headers = Object.entries(request.headers).map(([name, value]) => `  -H ${quote(`${name}: ${value}`)}`);
  return [`curl -X POST ${quote(url)}`, ...headers, `  --data-raw ${quote(request.body)}`].join(' \\\n');
}

/** A header in the editor. */
export interface HeaderRow {
  readonly name: string;
  readonly value: string;
}

/** Returns the headers of the rows that have a name. */
export const toHeaders = (rows: readonly HeaderRow[]): Record<string, string> =>
  Object.fromEntries(rows.filter(({ name }) => name.trim() !== '').map(({ name, value }) => [name.trim(), value]));

export const toHeaderRows = (headers: Readonly<Record<string, string>>): HeaderRow[] =>
  Object.entries(headers).map(([name, value]) => ({ name, value }));
