import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { LastLocation, LocationDeps } from './schema.ts';
import { readLastLocations } from './store.ts';

export { type LocationDeps, partitionTag } from './schema.ts';
export { readLastLocations } from './store.ts';

/** Position queries for other domains. */

/**
 * Returns the newest positions by canonical terminal number, for callers that can work without them. The map is empty
 * while Redis is unavailable.
 */
export async function findLastLocations(
  deps: LocationDeps & Pick<Deps, 'log'>,
  imeis: readonly string[],
): Promise<Map<string, LastLocation>> {
  try {
    return await readLastLocations(deps, imeis);
  } catch (error) {
    deps.log.warn({ err: error }, 'could not read the newest positions');
    return new Map();
  }
}

/** Returns the newest position of a terminal, or null if it never reported; throws 503 while Redis is unavailable. */
export async function lastLocation(deps: LocationDeps, imei: string): Promise<LastLocation | null> {
  try {
    return (await readLastLocations(deps, [imei])).get(imei) ?? null;
  } catch (cause) {
    throw new AppError('unavailable', 'Positions are temporarily unavailable. Retry later.', { cause });
  }
}
