import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';

const patienceMs = 15_000;
const shortestPauseMs = 5;
const longestPauseMs = 200;

/**
 * Does something again while others are faster, with pauses of random lengths between, so that many who change the same at once all come through. Who does not for
 * long is told 503 `unavailable`: the caller's request was right.
 */
export async function untilAlone<T>(
  run: () => Promise<T>,
  wasRaced: (error: unknown) => boolean,
  giveUpAfterMs = patienceMs,
): Promise<T> {
  const endMs = performance.now() + giveUpAfterMs;
  for (let pauseMs = shortestPauseMs; ; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await run();
    } catch (cause) {
      if (!wasRaced(cause)) throw cause;
      if (performance.now() > endMs)
        throw new AppError('unavailable', 'Others are changing the same at the moment: try again.', { cause });
    }
    await delay(pauseMs * (0.5 + Math.random()));
  }
}

/** The record was changed after it was read. */
export const isOtherVersion = (error: unknown): boolean =>
  error instanceof AppError && error.code === 'version_mismatch';

/** A unique value is taken, be it by a record that is just being written. */
export const isDuplicate = (error: unknown): boolean => error instanceof AppError && error.code === 'duplicate';

/**
 * Reads a record, and writes what was made of it to the version that was read: again where it has changed meanwhile. With a version that the caller asks for
 * (If-Match) once only: another one is 412.
 */
export const writeToVersion = <T>(expectedVersion: number | undefined, run: () => Promise<T>): Promise<T> =>
  expectedVersion === undefined ? untilAlone(run, isOtherVersion) : run();
