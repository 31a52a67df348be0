import type { Deps } from '../../platform/deps.ts';
import { type KnownAddress, knownAddress } from '../geocoding/queries.ts';
import { placeOf, type ToRaise } from './content.ts';

type Parts = Pick<Deps, 'database' | 'log' | 'maps'>;

/** Where things have happened, in words, as far as that is known without asking anybody; null where it is not. */
export async function addressOf(parts: Parts, item: ToRaise, language: string): Promise<KnownAddress | null> {
  const place = placeOf(item.raised);
  if (place === null || Math.abs(place.latitude) > 90 || Math.abs(place.longitude) > 180) return null;
  const position = [place.latitude, place.longitude] as const;
  try {
    return await knownAddress(parts, item.vehicle, { position, language, geofences: item.geofences ?? [] });
  } catch (error) {
    // Nobody waits for an alarm because of its address.
    parts.log.warn({ err: error }, 'the address of a notification could not be found');
    return null;
  }
}
