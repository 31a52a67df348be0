import { BusError, type RequestOptions } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

/** Tracing data of a request. */
export interface RequestTrace {
  readonly correlationId: string;
  /** Common deadline of several calls, on this process's monotonic clock (`performance.now()`). */
  readonly deadlineAtMs?: number;
}

/** Wait for the response of a device, and for the use case around it. */
const deviceTimeoutMs = 91_000;

/** Returns the trace with a deadline for all calls of the request, below the time-out of its route. */
export const withDeadline = ({ correlationId }: RequestTrace): RequestTrace => ({
  correlationId,
  deadlineAtMs: performance.now() + deviceTimeoutMs,
});

/**
 * Calls a use case of device-api, which gets the time that is left. Throws its error; throws 504 if the device takes
 * too long, and 503 if device-api cannot be reached.
 */
export async function callDevice<Result>(
  call: (options: RequestOptions) => Promise<Result>,
  { correlationId, deadlineAtMs = Number.POSITIVE_INFINITY }: RequestTrace,
): Promise<Result> {
  const timeoutMs = Math.min(deviceTimeoutMs, Math.floor(deadlineAtMs - performance.now()));
  if (timeoutMs <= 0) throw deviceTimeout();
  try {
    return await call({ timeoutMs, correlationId });
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    if (cause.kind === 'timedOut') throw deviceTimeout(cause);
    throw new AppError('unavailable', 'Devices cannot be reached at the moment. Retry.', { cause });
  }
}

const deviceTimeout = (cause?: unknown): AppError =>
  new AppError('device_timeout', 'The device did not reply in time.', cause === undefined ? {} : { cause });
