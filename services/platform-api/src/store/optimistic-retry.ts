import { AppError } from '@fleet/service-kit';
import pRetry from 'p-retry';

const defaultTimeoutMs = 15_000;
/** Random factors up to 2 apply, so that concurrent callers do not retry in step. */
const delays = { minTimeout: 5, maxTimeout: 100, factor: 2, randomize: true } as const;

/**
 * Retries `run` with jittered exponential backoff while it fails with a write conflict; throws 503 `unavailable` after
 * `timeoutMs`.
 */
export async function retryOnConflict<T>(
  run: () => Promise<T>,
  isConflict: (error: unknown) => boolean,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  try {
    return await pRetry(run, {
      ...delays,
      retries: Number.POSITIVE_INFINITY,
      maxRetryTime: timeoutMs,
      shouldRetry: ({ error }) => isConflict(error),
    });
  } catch (cause) {
    if (!isConflict(cause)) throw cause;
    throw new AppError('unavailable', 'The record is being modified concurrently. Retry.', { cause });
  }
}

/** The record was changed after it was read. */
export const isVersionConflict = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'version_mismatch';

/** A unique value is taken, be it by a record that is just being written. */
export const isDuplicateError = (error: unknown): boolean => error instanceof AppError && error.code === 'duplicate';

/**
 * Reads a record, and writes what was made of it to the version that was read: again where it has changed meanwhile. With a version that the caller asks for
 * (If-Match) once only: another one is 412.
 */
export const updateWithVersion = <T>(expectedVersion: number | undefined, run: () => Promise<T>): Promise<T> =>
  expectedVersion === undefined ? retryOnConflict(run, isVersionConflict) : run();
