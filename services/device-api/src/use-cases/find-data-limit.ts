import { BusError, type DataLimit, findDataLimit as findLimitRequest, request } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import type { CommandContext, Deps } from '../deps.ts';

const findLimitTimeoutMs = 3_000;

/**
 * Returns how the data budget of a device limits new streams. Throws 429 if none may start. Without platform-api
 * nothing is limited.
 */
export async function findDataLimit(
  { bus }: Pick<Deps, 'bus'>,
  imei: string,
  { correlationId, log }: Pick<CommandContext, 'correlationId' | 'log'>,
): Promise<Exclude<DataLimit['limit'], 'refuse'>> {
  let found: DataLimit;
  try {
    found = await request(bus, findLimitRequest, { imei }, { timeoutMs: findLimitTimeoutMs, correlationId });
  } catch (error) {
    if (!(error instanceof BusError)) throw error;
    log.warn({ err: error }, 'could not look up a data budget');
    return null;
  }
  if (found.limit !== 'refuse') return found.limit;
  throw new AppError('data_budget_spent', 'The data budget of the vehicle is spent for this month.', {
    headers: { 'Retry-After': String(found.retryAfterSeconds) },
  });
}
