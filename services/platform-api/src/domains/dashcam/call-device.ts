import { BusError, type RequestOptions } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';

/** Tracing data of a request. */
export interface RequestTrace {
  readonly correlationId: string;
}

/** Wait for the response of a device, and for the use case around it. */
const deviceTimeoutMs = 91_000;

/**
 * Calls a use case of device-api. Throws its error; throws 503 if device-api cannot be reached or takes too long.
 */
export async function callDevice<Result>(
  call: (options: RequestOptions) => Promise<Result>,
  { correlationId }: RequestTrace,
): Promise<Result> {
  try {
    return await call({ timeoutMs: deviceTimeoutMs, correlationId });
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    if (cause.kind === 'timedOut') throw new AppError('request_timeout', 'The device took too long.', { cause });
    throw new AppError('unavailable', 'Devices cannot be reached at the moment. Retry.', { cause });
  }
}
