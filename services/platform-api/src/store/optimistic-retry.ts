import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';

const defaultTimeoutMs = 15_000;
const minDelayMs = 5;
const maxDelayMs = 200;

/**
 * Does something again while others are faster, with pauses of random lengths between, so that many who change the same at once all come through. Who does not for
 * long is told 503 `unavailable`: the caller's request was right.
 */
export async function retryOnConflict<T>(
  run: () => Promise<T>,
  isConflict: (error: unknown) => boolean,
  timeoutMs = defaultTimeoutMs,
): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs;
  for (let delayMs = minDelayMs; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    try {
      return await run();
    } catch (cause) {
      if (!isConflict(cause)) throw cause;
      if (performance.now() > deadlineMs)
        throw new AppError('unavailable', 'Others are changing the same at the moment: try again.', { cause });
    }
    await delay(delayMs * (0.5 + Math.random()));
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
