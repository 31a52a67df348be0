import { setTimeout as delay } from 'node:timers/promises';
import { AppError, type Logger } from '@fleet/service-kit';
import { isDuplicateKey } from '@fleet/storage';
import type { Caller } from '../access/caller.ts';
import { createDriver } from '../domains/drivers/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { recordGroup } from '../domains/vehicle-groups/commands.ts';
import { ensureVehicle } from '../domains/vehicles/use-cases.ts';
import type { RecordStore } from '../store/record-store.ts';

type DemoFleetDeps = { readonly records: RecordStore; readonly log: Logger };

/** Attempts, over all vehicles, to read a vehicle that another replica is creating. */
const waitAttempts = 50;
const waitIntervalMs = 100;

const names = ['North 1', 'North 2', 'South 1'];
const drivers = [
  { name: 'Asha Verma', license_number: 'DEMO-0001', card_number: 'CARD-0001', license_expiry_date: '2031-06-30' },
  { name: 'Daniel Okafor', license_number: 'DEMO-0002', card_number: 'CARD-0002', license_expiry_date: '2030-01-31' },
];

/**
 * Creates a small demo fleet once per account: vehicles with the given terminals, two drivers, a tree of groups.
 * Another start continues after a crash. Records that a user deletes afterwards are not created again.
 */
export async function ensureDemoFleet(
  deps: DemoFleetDeps,
  owner: Pick<User, '_id' | 'accountId'>,
  imeis: readonly string[],
): Promise<void> {
  const { accountId } = owner;
  const mark = { _id: `accounts.demo_fleet:${accountId}`, recordId: accountId };
  if ((await deps.records.uniqueValues.findOne({ _id: mark._id })) !== null) return;
  const vehicleIds = await createDemoVehicles(deps, owner, imeis);
  const caller: Caller = {
    accountId,
    userId: owner._id,
    role: 'owner',
    canViewVideo: true,
    sessionId: null,
    mintedByKeyId: null,
    keyId: null,
    scopes: [],
  };
  for (const [n, driver] of drivers.entries())
    await createIfMissing(
      createDriver(deps, caller, { ...driver, vehicle_ids: definedIds(vehicleIds.slice(n, n + 1)) }),
    );
  const top = await createIfMissing(recordGroup(deps, caller, { name: 'Demo fleet', color: '#1976D2' }));
  if (top !== undefined) {
    const north = { name: 'North depot', parent_group: top, vehicles: definedIds(vehicleIds.slice(0, 2)) };
    const south = { name: 'South depot', parent_group: top, vehicles: definedIds(vehicleIds.slice(2)) };
    for (const group of [north, south]) await createIfMissing(recordGroup(deps, caller, group));
  }
  try {
    await deps.records.uniqueValues.insertOne(mark);
  } catch (error) {
    // Another replica completed the fleet concurrently.
    if (!isDuplicateKey(error)) throw error;
  }
  deps.log.info({ accountId, vehicleIds }, 'the demo fleet exists');
}

const definedIds = (ids: readonly (number | undefined)[]): number[] => ids.filter((id) => id !== undefined);

/** Returns the ids of the terminals' vehicles in order; undefined for vehicles of another account. */
async function createDemoVehicles(
  { records }: DemoFleetDeps,
  { _id: ownerUserId, accountId }: Pick<User, '_id' | 'accountId'>,
  imeis: readonly string[],
): Promise<(number | undefined)[]> {
  const ids: (number | undefined)[] = [];
  let attempts = 0;
  for (const [n, imei] of imeis.entries()) {
    const vehicle = { vehicleNo: `DEMO${n + 1}`, name: names[n] ?? `Vehicle ${n + 1}`, imei };
    const record = () => createIfMissing(ensureVehicle(records, { accountId, ownerUserId, ...vehicle }));
    let created = await record();
    // Another replica is creating the vehicle: it reserves the number before it inserts the record.
    for (; created === undefined && attempts < waitAttempts; attempts += 1) {
      await delay(waitIntervalMs);
      created = await record();
    }
    ids.push(created?.record.accountId === accountId ? created.record._id : undefined);
  }
  return ids;
}

/** Returns undefined if the record already exists. */
async function createIfMissing<T>(creation: Promise<T>): Promise<T | undefined> {
  try {
    return await creation;
  } catch (error) {
    if (error instanceof AppError && error.code === 'duplicate') return undefined;
    throw error;
  }
}
