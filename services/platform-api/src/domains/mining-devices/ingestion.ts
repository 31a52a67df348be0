import { AppError } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { deviceDefaults } from './rules.ts';
import type { IngestedHeartbeat, IngestedPosition, MiningDevice } from './schema.ts';
import { deviceCollection, findDeviceByImei, heartbeatCollection, noteIngested, positionCollection } from './store.ts';

type Parts = Pick<Deps, 'records' | 'database'>;
type Kind = 'positions' | 'heartbeats';
type Item = IngestedPosition | IngestedHeartbeat;

const keptAtOnce = 25;

/** Returns true if the number belongs to a mining device of the account. */
export async function isMiningDevice({ records }: Pick<Deps, 'records'>, scope: Scope, imei: string): Promise<boolean> {
  return (await findDeviceByImei(records, imei))?.accountId === scope.accountId;
}

/** Returns the mining device of any account with a canonical number. */
export const miningDeviceByImei = ({ records }: Pick<Deps, 'records'>, imei: string): Promise<MiningDevice | null> =>
  findDeviceByImei(records, imei);

/** Creates a device that a partner reports; returns false if the number belongs to another account. */
export async function registerMiningDevice(
  { records }: Pick<Deps, 'records'>,
  scope: Scope,
  imei: string,
  recordedImei: string,
): Promise<boolean> {
  try {
    await deviceCollection(records).insert(scope, { ...deviceDefaults, imei, recordedImei });
    return true;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'duplicate') throw error;
    return isMiningDevice({ records }, scope, imei);
  }
}

/** Returns the id of an item. Items of the same account, device and time are the same. */
export const ingestedId = ({ accountId }: Scope, imei: string, timestamp: Date): string =>
  `${accountId}:${imei}:${timestamp.getTime()}`;

/** Returns those of the ids that were ingested before. */
export const knownItems = ({ database }: Pick<Deps, 'database'>, kind: Kind, ids: readonly string[]) =>
  (kind === 'positions' ? positionCollection(database) : heartbeatCollection(database)).known(ids);

/**
 * Stores ingested items and updates their mining devices. An item that another request stored concurrently counts only
 * there.
 */
export async function keepIngested(
  { records, database }: Parts,
  scope: Scope,
  kind: Kind,
  items: readonly Item[],
): Promise<void> {
  const kept = kind === 'positions' ? positionCollection(database) : heartbeatCollection(database);
  const fresh = new Map<string, Item[]>();
  for (let at = 0; at < items.length; at += keptAtOnce) {
    const part = items.slice(at, at + keptAtOnce);
    const areNew = await Promise.all(part.map((item) => kept.keep(item as never)));
    for (const [i, item] of part.entries())
      if (areNew[i] === true) fresh.set(item.imei, [...(fresh.get(item.imei) ?? []), item]);
  }
  for (const [imei, group] of fresh) {
    const newest = group.reduce((one, other) => (other.timestamp > one.timestamp ? other : one));
    const lastSeen = newest.receivedAt;
    if (kind === 'heartbeats') await noteIngested(records, scope, imei, { count: 0, lastSeen });
    else {
      const { _id, ...lastPosition } = newest as IngestedPosition;
      await noteIngested(records, scope, imei, { count: group.length, lastSeen, lastPosition });
    }
  }
}
