import { ApiFailure } from '@fleet/api-client';

/** Returns the faults of a refused request by the names of their top-level fields. */
export function toFieldErrors(error: unknown): Record<string, string> {
  if (!(error instanceof ApiFailure)) return {};
  const entries = error.details.map(({ path, message }) => [path.split('/', 2)[1] ?? '', message] as const);
  return Object.fromEntries(entries.filter(([field]) => field !== ''));
}

/** Returns true if a record was changed by somebody else since the page read it. */
export const isVersionMismatch = (error: unknown): boolean => error instanceof ApiFailure && error.status === 412;
