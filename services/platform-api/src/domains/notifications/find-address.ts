import type { Deps } from '../../platform/deps.ts';
import { type KnownAddress, knownAddress } from '../geocoding/queries.ts';
import { findingPosition, type NotificationRequest } from './to-notification.ts';

type FindAddressDeps = Pick<Deps, 'database' | 'log' | 'maps'>;

/**
 * Returns the address of a finding from cached and embedded data, without a request to a provider; null if it is
 * unknown.
 */
export async function findAddress(
  deps: FindAddressDeps,
  item: NotificationRequest,
  language: string,
): Promise<KnownAddress | null> {
  const place = findingPosition(item.raised);
  if (place === null || Math.abs(place.latitude) > 90 || Math.abs(place.longitude) > 180) return null;
  const position = [place.latitude, place.longitude] as const;
  try {
    return await knownAddress(deps, item.vehicle, { position, language, geofences: item.geofences ?? [] });
  } catch (error) {
    // An alarm must not be delayed or lost because of its address.
    deps.log.warn({ err: error }, 'could not find the address of a notification');
    return null;
  }
}
