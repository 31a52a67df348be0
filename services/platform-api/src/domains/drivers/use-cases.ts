import { type PageItems, type Paging, readSorting, requireVersion } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { requireAll } from '../../fields.ts';
import { type Change, type Conditions, matching } from '../../store/account-records.ts';
import { writeToVersion } from '../../store/again.ts';
import { inTurn } from '../../store/turns.ts';
import { audit } from '../audit/use-cases.ts';
import { dropDriverFromGroups } from '../vehicle-groups/links.ts';
import { assignVehicles, ownVehicleIds, vehiclesOfDrivers } from '../vehicles/assignments.ts';
import { namedTo, visibleVehicles } from '../vehicles/visibility.ts';
import { ownDriverIds } from './look-ups.ts';
import { checkDates, driverChange, driverDefaults } from './rules.ts';
import type { Driver, DriverBody, DriverShown, ListDriversQuery } from './schema.ts';
import { shownDriver } from './shown.ts';
import { driversIn, keepName } from './store.ts';

type Parts = Pick<Deps, 'records' | 'log'>;

const sortFields: Readonly<Record<string, string>> = {
  license_expiry_date: 'licenseExpiryDate',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
};

/** A page of the drivers that the caller may see. */
export async function listDrivers(
  deps: Parts,
  caller: Caller,
  query: ListDriversQuery,
  paging: Paging,
): Promise<PageItems<DriverShown>> {
  const { field, direction } = readSorting(query.sort);
  const { items, total } = await driversIn(deps.records).list(caller, {
    where: { $and: [await visiblePart(deps, caller), ...(await filtersOf(deps, caller, query))] },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
  const vehicles = await vehiclesOfDrivers(
    deps,
    caller,
    items.map(({ _id }) => _id),
  );
  const isNamed = await namedTo(deps, caller);
  return { items: items.map((driver) => shownDriver(driver, vehicles.get(driver._id) ?? [], isNamed)), total };
}

/** A user with the role driver sees who drives the own vehicles; the others see all drivers of the account. */
async function visiblePart(deps: Parts, caller: Caller): Promise<Conditions> {
  if (caller.role !== 'driver') return {};
  const vehicles = await visibleVehicles(deps, caller);
  const own = vehicles.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle.driverId] : []));
  return { _id: { $in: own.filter((id) => id !== null) } };
}

async function filtersOf(deps: Parts, caller: Caller, query: ListDriversQuery): Promise<Conditions[]> {
  const filters = [matching(query.query, ['name', 'phoneNumber', 'licenseNumber', 'cardNumber'])];
  if (query.status !== undefined) filters.push({ status: query.status });
  if (query.vehicle_id !== undefined) {
    const [visible] = await visibleVehicles(deps, caller, [query.vehicle_id]);
    const driverId = visible?.access === 'owner' ? visible.vehicle.driverId : null;
    filters.push({ _id: { $in: driverId === null ? [] : [driverId] } });
  }
  return filters;
}

/** One driver that the caller may see, or null. */
export async function readDriver(deps: Parts, caller: Caller, id: number): Promise<DriverShown | null> {
  const driver = await driversIn(deps.records).findOne(caller, {
    $and: [{ _id: id }, await visiblePart(deps, caller)],
  });
  return driver === null ? null : withVehicles(deps, driver, await namedTo(deps, caller));
}

export async function createDriver(
  deps: Parts,
  caller: Caller,
  body: DriverBody & { name: string },
): Promise<DriverShown> {
  const fields = { ...driverDefaults, ...driverChange(body), name: body.name };
  checkDates(fields);
  await checkVehicles(deps, caller, body.vehicle_ids);
  const driver = await driversIn(deps.records).insert(caller, fields);
  await audit(deps, caller, 'drivers.create', { type: 'drivers', id: driver._id }, { fields: Object.keys(body) });
  await setVehicles(deps, caller, driver._id, body.vehicle_ids);
  return withVehicles(deps, driver);
}

/** Null when there is no such driver. */
export async function updateDriver(
  deps: Parts,
  caller: Caller,
  id: number,
  body: DriverBody,
  expectedVersion: number | undefined,
): Promise<DriverShown | null> {
  const change = driverChange(body);
  await checkVehicles(deps, caller, body.vehicle_ids);
  const driver = await write(deps, caller, id, change, expectedVersion);
  if (driver === null) return null;
  await audit(deps, caller, 'drivers.update', { type: 'drivers', id }, { fields: Object.keys(body) });
  await setVehicles(deps, caller, id, body.vehicle_ids);
  return withVehicles(deps, driver);
}

function write(
  { records }: Parts,
  caller: Caller,
  id: number,
  change: Change<Driver>,
  expectedVersion: number | undefined,
): Promise<Driver | null> {
  const drivers = driversIn(records);
  return writeToVersion(expectedVersion, async () => {
    const known = await drivers.find(caller, id);
    if (known === null) return null;
    checkDates({ ...known, ...change });
    // Dates that were checked together are written to the version that was read.
    const hasDates = change.licenseIssueDate !== undefined || change.licenseExpiryDate !== undefined;
    return drivers.update(caller, id, change, expectedVersion ?? (hasDates ? known.version : undefined));
  });
}

/** Removes a driver, whose vehicles have none then; the driver as he or she was, or null. */
export async function deleteDriver(
  deps: Parts,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<DriverShown | null> {
  const drivers = driversIn(deps.records);
  const known = await drivers.find(caller, id);
  if (known === null) return null;
  requireVersion(known, expectedVersion);
  const shown = await withVehicles(deps, known);
  // First: trips that tell of nobody would stay so.
  await keepName(deps.records, known, new Date());
  if ((await drivers.remove(caller, id, { expectedVersion })) === null) return null;
  await assignVehicles(deps, caller, id, []);
  await dropDriverFromGroups(deps, caller, id);
  await audit(deps, caller, 'drivers.delete', { type: 'drivers', id });
  return shown;
}

/** Gives a driver these vehicles and no others, whoever else gives some at the same time; one who is deleted meanwhile gets none. */
async function setVehicles(
  deps: Parts,
  caller: Caller,
  id: number,
  vehicleIds: readonly number[] | undefined,
): Promise<void> {
  if (vehicleIds === undefined) return;
  const assign = (check: () => void): Promise<void> => assignVehicles(deps, caller, id, vehicleIds, check);
  await inTurn(deps.records.database, `vehicles of driver ${id}`, assign);
  if ((await ownDriverIds(deps, caller, [id])).length === 0) await assignVehicles(deps, caller, id, []);
}

async function checkVehicles(deps: Parts, caller: Caller, ids: readonly number[] = []): Promise<void> {
  if (ids.length > 0) requireAll('vehicle', ids, await ownVehicleIds(deps, caller, ids));
}

async function withVehicles(
  deps: Parts,
  driver: Driver,
  isNamed?: (vehicleId: number) => boolean,
): Promise<DriverShown> {
  const vehicles = await vehiclesOfDrivers(deps, driver, [driver._id]);
  return shownDriver(driver, vehicles.get(driver._id) ?? [], isNamed);
}
