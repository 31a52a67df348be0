import type { Deps } from '../../deps.ts';
import type { LastLocation } from './schema.ts';
import { readLastLocations } from './store.ts';

/** What other domains ask of positions. */

/** The newest positions by canonical terminal number; while Redis is away none is known. */
export async function lastLocations(
  { redis, log }: Pick<Deps, 'redis' | 'log'>,
  imeis: readonly string[],
): Promise<Map<string, LastLocation>> {
  if (imeis.length === 0) return new Map();
  try {
    return await readLastLocations(redis, imeis);
  } catch (error) {
    log.warn({ err: error }, 'the newest positions could not be read');
    return new Map();
  }
}

/** The newest position of a terminal; null when it never reported. */
export const lastLocation = async (deps: Pick<Deps, 'redis' | 'log'>, imei: string): Promise<LastLocation | null> =>
  (await lastLocations(deps, [imei])).get(imei) ?? null;
