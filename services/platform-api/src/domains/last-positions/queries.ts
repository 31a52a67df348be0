import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { LastLocation } from './schema.ts';
import { readLastLocations } from './store.ts';

export { readLastLocations } from './store.ts';

/** What other domains ask of positions. */

/** The newest positions by canonical terminal number, for what goes without: while Redis is away none is known. */
export async function lastLocationsIfKnown(
  { redis, log }: Pick<Deps, 'redis' | 'log'>,
  imeis: readonly string[],
): Promise<Map<string, LastLocation>> {
  try {
    return await readLastLocations(redis, imeis);
  } catch (error) {
    log.warn({ err: error }, 'the newest positions could not be read');
    return new Map();
  }
}

/** The newest position of a terminal, null when it never reported; 503 while Redis is away. */
export async function lastLocation({ redis }: Pick<Deps, 'redis'>, imei: string): Promise<LastLocation | null> {
  try {
    return (await readLastLocations(redis, [imei])).get(imei) ?? null;
  } catch (cause) {
    throw new AppError('unavailable', 'Positions cannot be read at the moment.', { cause });
  }
}
