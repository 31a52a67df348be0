import type { AttemptError } from '@fleet/storage';

/** Result of an attempt to send. */
export interface AttemptResult {
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** First part of the response; null without one. */
  readonly responseBody: string | null;
  /** Value of the `Retry-After` header. */
  readonly retryAfter: string | undefined;
}

/** Progress of a connection. */
export type Phase = 'connecting' | 'securing' | 'established';

/** Returns true for a 2xx response that was read completely, or exceeded the limit. */
export const isSuccess = ({ statusCode, errorCode }: Pick<AttemptResult, 'statusCode' | 'errorCode'>): boolean =>
  errorCode === null && statusCode !== null && statusCode >= 200 && statusCode < 300;

const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** Returns the name of a connection error for the delivery log. */
export function toErrorCode(error: unknown, phase: Phase): AttemptError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // Several addresses, each of which failed.
  if (error instanceof AggregateError && error.errors.length > 0) return toErrorCode(error.errors[0], phase);
  if (code === 'HPE_HEADER_OVERFLOW') return 'response_too_large';
  if (code === 'ETIMEDOUT') return 'connect_timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns_error';
  if (resetCodes.has(code)) return 'connection_reset';
  if (phase === 'securing') return 'tls_error';
  // An unreachable address counts as refused; an invalid HTTP response counts as none.
  return phase === 'connecting' ? 'connection_refused' : 'connection_reset';
}
