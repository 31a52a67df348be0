import type { Database } from '@fleet/storage';
import { AccountRepository, type Filter, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { IngestedHeartbeat, IngestedPosition, MiningDevice } from './schema.ts';

export const deviceCollection = (records: RecordStore): AccountRepository<MiningDevice> =>
  new AccountRepository<MiningDevice>(records, 'mining_devices', { unique: { imei: 'system' } });

/** Returns the device of any account with a number, which is unique in the system. */
export const findDeviceByImei = (records: RecordStore, imei: string): Promise<MiningDevice | null> =>
  records.findByUnique<MiningDevice>('mining_devices', 'imei', imei);

/** Updates a device after ingestion. This does not change the version of the record. */
export async function noteIngested(
  records: RecordStore,
  { accountId }: Scope,
  imei: string,
  change: { readonly count: number; readonly lastSeen?: Date; readonly lastPosition?: MiningDevice['lastPosition'] },
): Promise<void> {
  const devices = records.collection<MiningDevice>('mining_devices');
  const filter = { accountId, imei } as object;
  const { count, lastSeen, lastPosition } = change;
  await devices.updateOne(filter, {
    $inc: { dataCount: count },
    ...(lastSeen === undefined ? {} : { $max: { lastSeen } }),
  });
  if (lastPosition === undefined || lastPosition === null) return;
  const isNewer = { $or: [{ lastPosition: null }, { 'lastPosition.timestamp': { $lt: lastPosition.timestamp } }] };
  await devices.updateOne({ ...filter, ...isNewer }, { $set: { lastPosition } });
}

/** Sets what remains of a device's data after it was cleared. */
export async function resetIngested(
  records: RecordStore,
  { accountId }: Scope,
  imei: string,
  left: Pick<MiningDevice, 'dataCount' | 'lastPosition' | 'lastSeen'>,
): Promise<void> {
  await records.collection<MiningDevice>('mining_devices').updateOne({ accountId, imei }, { $set: left });
}

/** Positions or heartbeats that partners sent; each is stored once per account, number and time. */
class Ingested<T extends IngestedPosition | IngestedHeartbeat> {
  readonly #database: Database;
  readonly #name: string;

  constructor(database: Database, name: string) {
    this.#database = database;
    this.#name = name;
  }

  /** Returns those of the ids that exist. */
  async known(ids: readonly string[]): Promise<Set<string>> {
    const filter: object = { _id: { $in: [...ids] } };
    const found = await this.#collection.find(filter, { projection: { _id: 1 } }).toArray();
    return new Set(found.map(({ _id }) => String(_id)));
  }

  /** Stores an item; returns false if it exists already. */
  async keep(item: T): Promise<boolean> {
    const { _id, ...fields } = item;
    const filter: object = { _id };
    const result = await this.#collection.updateOne(filter, { $setOnInsert: fields as Filter }, { upsert: true });
    return result.upsertedCount === 1;
  }

  /** Deletes matching items; returns their number and the terminal numbers of their devices. */
  async clear({ accountId }: Scope, where: Filter): Promise<{ count: number; imeis: Set<string> }> {
    const filter: object = { ...where, accountId };
    // Millions of items belong to a few hundred devices.
    const imeis = await this.#collection.distinct('imei', filter);
    const { deletedCount } = await this.#collection.deleteMany(filter);
    return { count: deletedCount, imeis: new Set(imeis.map(String)) };
  }

  /** Returns the number of items of a device. */
  count({ accountId }: Scope, imei: string): Promise<number> {
    return this.#collection.countDocuments({ accountId, imei });
  }

  /** Returns the newest item of a device. */
  async newest({ accountId }: Scope, imei: string): Promise<T | null> {
    const filter: object = { accountId, imei };
    const [found] = await this.#collection.find(filter).sort({ timestamp: -1 }).limit(1).toArray();
    return (found ?? null) as unknown as T | null;
  }

  get #collection() {
    return this.#database.collection<Record<string, unknown>>(this.#name);
  }
}

export const positionCollection = (database: Database): Ingested<IngestedPosition> =>
  new Ingested(database, 'partner_positions');
export const heartbeatCollection = (database: Database): Ingested<IngestedHeartbeat> =>
  new Ingested(database, 'partner_heartbeats');
