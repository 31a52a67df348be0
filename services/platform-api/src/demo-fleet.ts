import { setTimeout as delay } from 'node:timers/promises';
import { AppError, type Logger } from '@fleet/service-kit';
import { isDuplicateKey } from '@fleet/storage';
import type { Caller } from './access/caller.ts';
import { createDriver } from './domains/drivers/use-cases.ts';
import type { User } from './domains/users/schema.ts';
import { recordGroup } from './domains/vehicle-groups/changes.ts';
import { recordVehicle } from './domains/vehicles/use-cases.ts';
import type { Records } from './store/records.ts';

type Parts = { readonly records: Records; readonly log: Logger };

/** How long, altogether, vehicles are waited for that another replica makes. */
const looksForAnother = 50;
const lookEveryMs = 100;

const names = ['North 1', 'North 2', 'South 1'];
const drivers = [
  { name: 'Asha Verma', license_number: 'DEMO-0001', card_number: 'CARD-0001', license_expiry_date: '2031-06-30' },
  { name: 'Daniel Okafor', license_number: 'DEMO-0002', card_number: 'CARD-0002', license_expiry_date: '2030-01-31' },
];

/**
 * Makes a small fleet for looking around, once for an account: vehicles with these terminals, two drivers, a tree of groups. Whoever dies at it is followed by
 * another; what a user deletes afterwards stays deleted.
 */
export async function ensureDemoFleet(
  parts: Parts,
  owner: Pick<User, '_id' | 'accountId'>,
  imeis: readonly string[],
): Promise<void> {
  const { accountId } = owner;
  const mark = { _id: `accounts.demo_fleet:${accountId}`, recordId: accountId };
  if ((await parts.records.uniqueValues.findOne({ _id: mark._id })) !== null) return;
  const vehicleIds = await demoVehicles(parts, owner, imeis);
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
    await unlessThere(createDriver(parts, caller, { ...driver, vehicle_ids: known(vehicleIds.slice(n, n + 1)) }));
  const top = await unlessThere(recordGroup(parts, caller, { name: 'Demo fleet', color: '#1976D2' }));
  if (top !== undefined) {
    const north = { name: 'North depot', parent_group: top, vehicles: known(vehicleIds.slice(0, 2)) };
    const south = { name: 'South depot', parent_group: top, vehicles: known(vehicleIds.slice(2)) };
    for (const group of [north, south]) await unlessThere(recordGroup(parts, caller, group));
  }
  try {
    await parts.records.uniqueValues.insertOne(mark);
  } catch (error) {
    // Another replica was as fast.
    if (!isDuplicateKey(error)) throw error;
  }
  parts.log.info({ accountId, vehicleIds }, 'the demo fleet is on record');
}

const known = (ids: readonly (number | undefined)[]): number[] => ids.filter((id) => id !== undefined);

/** The terminals' vehicles in their order, as far as they are the account's. */
async function demoVehicles(
  { records }: Parts,
  { _id: ownerUserId, accountId }: Pick<User, '_id' | 'accountId'>,
  imeis: readonly string[],
): Promise<(number | undefined)[]> {
  const ids: (number | undefined)[] = [];
  let looks = 0;
  for (const [n, imei] of imeis.entries()) {
    const given = { vehicleNo: `DEMO${n + 1}`, name: names[n] ?? `Vehicle ${n + 1}`, imei };
    const record = () => unlessThere(recordVehicle(records, { accountId, ownerUserId, ...given }));
    let made = await record();
    // Another replica makes it: its number is taken a moment before it stands.
    for (; made === undefined && looks < looksForAnother; looks += 1) {
      await delay(lookEveryMs);
      made = await record();
    }
    ids.push(made?.record.accountId === accountId ? made.record._id : undefined);
  }
  return ids;
}

/** Undefined for what stands there already. */
async function unlessThere<T>(making: Promise<T>): Promise<T | undefined> {
  try {
    return await making;
  } catch (error) {
    if (error instanceof AppError && error.code === 'duplicate') return undefined;
    throw error;
  }
}
