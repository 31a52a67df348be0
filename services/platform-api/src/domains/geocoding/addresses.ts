import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { countKey } from '../../access/rate-limits.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Resolved } from '../../maps/map-services.ts';
import type { FoundAddress } from '../../maps/providers.ts';
import type { Deps } from '../../platform/deps.ts';
import { type CacheKey, cachedAddress, cachedAddresses, keepAddress, placeKey } from './store.ts';

type AddressDeps = Pick<Deps, 'database' | 'log' | 'maps'>;

const concurrency = 8;
/** Largest number of positions whose addresses one request looks up. */
const maxAddresses = 200;

/** Returns the address of a position from the cache, or from the geocoder, whose result is cached for the account. */
export async function addressOf(
  deps: AddressDeps,
  caller: Caller,
  position: Position,
  language?: string,
): Promise<Resolved<FoundAddress> & { readonly isCached: boolean }> {
  const key = { place: placeKey(position), language: language?.toLowerCase() ?? '' };
  const cached = deps.maps.hasGeocoder ? await cachedAddress(deps.database, caller, key) : null;
  if (cached !== null) return { value: cached.address, provider: cached.provider, isFallback: false, isCached: true };
  return { ...(await requestAddress(deps, caller, position, key, language)), isCached: false };
}

async function requestAddress(
  { database, maps, log }: AddressDeps,
  caller: Caller,
  position: Position,
  key: CacheKey,
  language?: string,
): Promise<Resolved<FoundAddress>> {
  const found = await maps.reverse(position, language);
  // Results of the embedded geocoder are not cached, as they cost nothing.
  if (maps.hasGeocoder && !found.isFallback)
    await keepAddress(database, caller, key, found.value, found.provider).catch((error: unknown) =>
      log.warn({ err: error }, 'could not cache an address'),
    );
  return found;
}

/**
 * Returns the addresses of positions, in their order. An address that is not cached takes a token of the geocoding
 * bucket, like a request for it. Once the bucket is empty, and after 200 positions, the remaining addresses are null.
 */
export async function addressesOf(
  deps: AddressDeps & Pick<Deps, 'limits'>,
  caller: Caller,
  positions: readonly Position[],
): Promise<(string | null)[]> {
  const byPlace = new Map(positions.slice(0, maxAddresses).map((position) => [placeKey(position), position]));
  const found = deps.maps.hasGeocoder
    ? await cachedAddresses(deps.database, caller, [...byPlace.keys()])
    : new Map<string, string>();
  const missing = [...byPlace].filter(([place]) => !found.has(place));
  for (let at = 0; at < missing.length; at += concurrency) {
    const lookUps = missing.slice(at, at + concurrency).map(async ([place, position]) => {
      if (!(await takeToken(deps, caller))) return false;
      const { value } = await requestAddress(deps, caller, position, { place, language: '' });
      found.set(place, value.address);
      return true;
    });
    if ((await Promise.all(lookUps)).includes(false)) break;
  }
  return positions.map((position, at) => (at < maxAddresses ? (found.get(placeKey(position)) ?? null) : null));
}

async function takeToken({ limits }: Pick<Deps, 'limits'>, caller: Caller): Promise<boolean> {
  try {
    await limits.consume('geocode', countKey('key', caller, caller.ip));
    return true;
  } catch (error) {
    if (error instanceof AppError && error.code === 'rate_limited') return false;
    throw error;
  }
}
