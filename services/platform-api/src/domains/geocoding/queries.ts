import type { Database } from '@fleet/storage';
import type { Position } from '../../geometry/positions.ts';
import type { MapServices } from '../../maps/map-services.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { Geofence } from '../geofences/schema.ts';
import { contains } from '../geofences/shapes.ts';
import { cachedAddress, placeKey } from './store.ts';

/** Address queries for other domains. */

/**
 * Position to describe without a request to a provider. `geofences` are the account's geofences that the caller has
 * loaded.
 */
interface AddressContext {
  readonly position: Position;
  readonly language: string;
  readonly geofences: readonly Geofence[];
}

/** Description of a position. Not every user who sees the vehicle may see the names of the account's geofences. */
export interface KnownAddress {
  readonly address: string;
  /**
   * Name of the smallest geofence that contains the position; null if there is none, or if the address is more precise.
   */
  readonly area: string | null;
}

/**
 * Returns a provider's cached address. Otherwise returns the nearest place of the embedded data and the smallest
 * geofence that contains the position.
 */
export async function knownAddress(
  { database, maps }: { readonly database: Database; readonly maps: MapServices },
  scope: Scope,
  { position, language, geofences }: AddressContext,
): Promise<KnownAddress> {
  const kept = maps.hasGeocoder ? await keptAddress(database, scope, position, language) : null;
  if (kept !== null) return { address: kept, area: null };
  const [inside] = geofences.filter((geofence) => contains(geofence, position)).sort((a, b) => a.areaM2 - b.areaM2);
  return { address: (await maps.nearestPlace(position)).address, area: inside?.name ?? null };
}

/** Returns the address cached in the language, or else the one cached by a request without a language. */
async function keptAddress(
  database: Database,
  scope: Scope,
  position: Position,
  language: string,
): Promise<string | null> {
  const found = await Promise.all(
    [language, ''].map((each) => cachedAddress(database, scope, { place: placeKey(position), language: each })),
  );
  return found.find((each) => each !== null)?.address.address ?? null;
}
