import { AppError } from '@fleet/service-kit';
import pRetry from 'p-retry';

const defaultTimeoutMs = 15_000;
/** Random factors up to 2 apply, so that concurrent callers do not retry in step. */
const delays = { minTimeout: 5, maxTimeout: 100, factor: 2, randomize: true } as const;

/**
 * Retries `run` with jittered exponential backoff while it fails with a conflict, so that all concurrent changes
 * succeed in the end. Throws 503 `unavailable` after `timeoutMs`, because the request itself was valid.
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

/** Returns true if the record was changed after it was read. */
export const isVersionConflict = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'version_mismatch';

/** Returns true if a unique value is taken, possibly by a record that is still being written. */
export const isDuplicateError = (error: unknown): boolean => error instanceof AppError && error.code === 'duplicate';

/**
 * Runs a read-modify-write of a record, and retries it if the record has changed concurrently. With an expected version
 * (If-Match) it runs once, and another version is 412.
 */
export const updateWithVersion = <T>(expectedVersion: number | undefined, run: () => Promise<T>): Promise<T> =>
  expectedVersion === undefined ? retryOnConflict(run, isVersionConflict) : run();
