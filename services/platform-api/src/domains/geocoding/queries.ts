import type { Database } from '@fleet/storage';
import type { Position } from '../../geometry/positions.ts';
import type { MapServices } from '../../maps/map-services.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { Geofence } from '../geofences/schema.ts';
import { contains } from '../geofences/shapes.ts';
import { cachedAddress, placeKey } from './store.ts';

/** What other domains ask about addresses. */

/** Where something is, for whom no provider is asked: `geofences` are own ones that are known here. */
export interface Whereabouts {
  readonly position: Position;
  readonly language: string;
  readonly geofences: readonly Geofence[];
}

/** Where something is, in words: geofences are the account's own, and their names are not for everybody who sees the vehicle. */
export interface KnownAddress {
  readonly address: string;
  /** The name of the smallest geofence that holds the position; null where there is none, or an address says more. */
  readonly area: string | null;
}

/** The address that a provider gave before; else the nearest place that comes with the product, and the smallest geofence that holds the position. */
export async function knownAddress(
  { database, maps }: { readonly database: Database; readonly maps: MapServices },
  scope: Scope,
  { position, language, geofences }: Whereabouts,
): Promise<KnownAddress> {
  const kept = maps.hasGeocoder ? await keptAddress(database, scope, position, language) : null;
  if (kept !== null) return { address: kept, area: null };
  const [inside] = geofences.filter((geofence) => contains(geofence, position)).sort((a, b) => a.areaM2 - b.areaM2);
  return { address: (await maps.nearestPlace(position)).address, area: inside?.name ?? null };
}

/** In the language, or else as somebody asked who named none. */
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
