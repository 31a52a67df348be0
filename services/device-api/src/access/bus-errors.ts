import { BusError } from '@fleet/bus';
import { AppError, type Route } from '@fleet/service-kit';

/** Returns true for the decision that a caller has no access; false for a check that failed. */
export const isRefusal = (error: unknown): error is AppError => error instanceof AppError && error.status < 500;

/** Returns 503 if platform-api or its database is unreachable, or 500 if the interface lists no 503. */
export async function mapBusError<T>(route: Pick<Route, 'errors'>, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    if (isRefusal(cause) || !(cause instanceof BusError || cause instanceof AppError)) throw cause;
    throw new AppError(
      503 in route.errors ? 'unavailable' : 'internal',
      'Credentials cannot be checked at the moment. Retry.',
      {
        cause,
      },
    );
  }
}
