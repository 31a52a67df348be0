import type { AttemptError } from '@fleet/storage';

/** How an attempt to send ended. */
export interface AttemptResult {
  readonly statusCode: number | null;
  readonly errorCode: AttemptError | null;
  /** The beginning of the answer; null without one. */
  readonly responseBody: string | null;
  /** The header of that name. */
  readonly retryAfter: string | undefined;
}

/** How far a connection has come. */
export type Phase = 'connecting' | 'securing' | 'established';

/** True for a 2xx that was read whole, or was too large to be. */
export const isSuccess = ({ statusCode, errorCode }: Pick<AttemptResult, 'statusCode' | 'errorCode'>): boolean =>
  errorCode === null && statusCode !== null && statusCode >= 200 && statusCode < 300;

const resetCodes = new Set(['ECONNRESET', 'EPIPE', 'ECONNABORTED']);

/** What an error of a connection is called in the log of attempts. */
export function toErrorCode(error: unknown, phase: Phase): AttemptError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // Several addresses, each of which has failed.
  if (error instanceof AggregateError && error.errors.length > 0) return toErrorCode(error.errors[0], phase);
  if (code === 'HPE_HEADER_OVERFLOW') return 'response_too_large';
  if (code === 'ETIMEDOUT') return 'connect_timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'dns_error';
  if (resetCodes.has(code)) return 'connection_reset';
  if (phase === 'securing') return 'tls_error';
  // Not reachable is as good as refused; an answer that is no HTTP as good as none.
  return phase === 'connecting' ? 'connection_refused' : 'connection_reset';
}
