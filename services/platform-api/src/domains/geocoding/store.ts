import { dayMs } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import type { Position } from '../../geometry/positions.ts';
import type { FoundAddress } from '../../maps/providers.ts';
import type { Scope } from '../../store/account-repository.ts';

/**
 * Address that a provider returned. Each account has its own entries, so that lookups reveal nothing to other accounts.
 */
interface CachedAddress extends FoundAddress {
  /** `<account>:<latitude>,<longitude>:<language>` */
  readonly _id: string;
  readonly accountId: number;
  readonly provider: string;
  readonly expiresAt: Date;
}

/** Key of a cached address within an account. */
export interface CacheKey {
  /** Latitude and longitude with 4 decimals, about 10 metres. */
  readonly place: string;
  readonly language: string;
}

/** Returns the place part of the cache key of a position. */
export const placeKey = (position: Position): string => position.map((value) => value.toFixed(4)).join(',');

const keepMs = 30 * dayMs;
/** Largest number of cached addresses that a search reads. */
const searchedAtMost = 2_000;

export const addressesIn = (database: Database): Collection<CachedAddress> =>
  database.collection<CachedAddress>('cached_addresses');

const idOf = ({ accountId }: Scope, { place, language }: CacheKey): string => `${accountId}:${place}:${language}`;

/** Returns the cached address, or null. */
export async function cachedAddress(
  database: Database,
  scope: Scope,
  key: CacheKey,
  now = new Date(),
): Promise<{ readonly address: FoundAddress; readonly provider: string } | null> {
  const found = await addressesIn(database).findOne({ _id: idOf(scope, key) });
  if (found === null || found.expiresAt <= now) return null;
  const { address, position, components, provider } = found;
  return { address: { address, position, components }, provider };
}

/** Returns the addresses that requests without a language cached for these places. */
export async function cachedAddresses(
  database: Database,
  scope: Scope,
  places: readonly string[],
  now = new Date(),
): Promise<Map<string, string>> {
  const placeById = new Map(places.map((place) => [idOf(scope, { place, language: '' }), place]));
  const found = await addressesIn(database)
    .find({ _id: { $in: [...placeById.keys()] }, accountId: scope.accountId, expiresAt: { $gt: now } })
    .project<{ readonly _id: string; readonly address: string }>({ address: 1 })
    .toArray();
  return new Map(found.map(({ _id: id, address }) => [placeById.get(id) ?? '', address]));
}

/** Caches an address for 30 days. */
export async function keepAddress(
  database: Database,
  scope: Scope,
  key: CacheKey,
  { address, position, components }: FoundAddress,
  provider: string,
): Promise<void> {
  const { accountId } = scope;
  const $set = { accountId, address, position, components, provider, expiresAt: new Date(Date.now() + keepMs) };
  await addressesIn(database).updateOne({ _id: idOf(scope, key) }, { $set }, { upsert: true });
}

/** Returns the newest cached addresses of an account. */
export const newestAddresses = (database: Database, { accountId }: Scope): Promise<CachedAddress[]> =>
  addressesIn(database)
    .find({ accountId, expiresAt: { $gt: new Date() } })
    .sort({ expiresAt: -1 })
    .limit(searchedAtMost)
    .toArray();
