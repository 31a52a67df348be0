import { assertVersion, type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound } from '../../platform/fields.ts';
import { type Change, type Filter, substringFilter } from '../../store/account-repository.ts';
import { withLock } from '../../store/distributed-lock.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { dropDriverFromGroups } from '../vehicle-groups/queries.ts';
import { assignVehicles, ownVehicleIds, vehiclesOfDrivers } from '../vehicles/assignments.ts';
import { createNamingCheck, visibleVehicles } from '../vehicles/visibility.ts';
import { filterOwnDriverIds } from './queries.ts';
import { toDriverResponse } from './responses.ts';
import { assertDatesValid, driverDefaults, toDriverChange } from './rules.ts';
import type { Driver, DriverBody, DriverResponse, ListDriversQuery } from './schema.ts';
import { archiveName, driverCollection } from './store.ts';

type DriverDeps = Pick<Deps, 'records' | 'log'>;

const sortFields: Readonly<Record<string, string>> = {
  license_expiry_date: 'licenseExpiryDate',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
};

/** Returns a page of the drivers that the caller may see. */
export async function listDrivers(
  deps: DriverDeps,
  caller: Caller,
  query: ListDriversQuery,
  paging: Pagination,
): Promise<Page<DriverResponse>> {
  const { field, direction } = parseSort(query.sort);
  const { items, total } = await driverCollection(deps.records).list(caller, {
    where: { $and: [await visibilityFilter(deps, caller), ...(await createFilters(deps, caller, query))] },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
  const vehicles = await vehiclesOfDrivers(
    deps,
    caller,
    items.map(({ _id }) => _id),
  );
  const canNameVehicle = await createNamingCheck(deps, caller);
  return {
    items: items.map((driver) => toDriverResponse(driver, vehicles.get(driver._id) ?? [], canNameVehicle)),
    total,
  };
}

/**
 * Restricts users with the role driver to the drivers of their own vehicles. Other users see all drivers of the
 * account.
 */
async function visibilityFilter(deps: DriverDeps, caller: Caller): Promise<Filter> {
  if (caller.role !== 'driver') return {};
  const vehicles = await visibleVehicles(deps, caller);
  const own = vehicles.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle.driverId] : []));
  return { _id: { $in: own.filter((id) => id !== null) } };
}

async function createFilters(deps: DriverDeps, caller: Caller, query: ListDriversQuery): Promise<Filter[]> {
  const filters = [substringFilter(query.query, ['name', 'phoneNumber', 'licenseNumber', 'cardNumber'])];
  if (query.status !== undefined) filters.push({ status: query.status });
  if (query.vehicle_id !== undefined) {
    const [visible] = await visibleVehicles(deps, caller, [query.vehicle_id]);
    const driverId = visible?.access === 'owner' ? visible.vehicle.driverId : null;
    filters.push({ _id: { $in: driverId === null ? [] : [driverId] } });
  }
  return filters;
}

/** Returns one driver that the caller may see, or null. */
export async function readDriver(deps: DriverDeps, caller: Caller, id: number): Promise<DriverResponse | null> {
  const driver = await driverCollection(deps.records).findOne(caller, {
    $and: [{ _id: id }, await visibilityFilter(deps, caller)],
  });
  return driver === null ? null : toDriverWithVehicles(deps, driver, await createNamingCheck(deps, caller));
}

export async function createDriver(
  deps: DriverDeps,
  caller: Caller,
  body: DriverBody & { name: string },
): Promise<DriverResponse> {
  const fields = { ...driverDefaults, ...toDriverChange(body), name: body.name };
  assertDatesValid(fields);
  await assertVehiclesFound(deps, caller, body.vehicle_ids);
  const driver = await driverCollection(deps.records).insert(caller, fields);
  await audit(deps, caller, 'drivers.create', { type: 'drivers', id: driver._id }, { fields: Object.keys(body) });
  await setVehicles(deps, caller, driver._id, body.vehicle_ids);
  return toDriverWithVehicles(deps, driver);
}

/** Changes a driver; returns null if the driver does not exist. */
export async function updateDriver(
  deps: DriverDeps,
  caller: Caller,
  id: number,
  body: DriverBody,
  expectedVersion: number | undefined,
): Promise<DriverResponse | null> {
  const change = toDriverChange(body);
  await assertVehiclesFound(deps, caller, body.vehicle_ids);
  const driver = await updateFields(deps, caller, id, change, expectedVersion);
  if (driver === null) return null;
  await audit(deps, caller, 'drivers.update', { type: 'drivers', id }, { fields: Object.keys(body) });
  await setVehicles(deps, caller, id, body.vehicle_ids);
  return toDriverWithVehicles(deps, driver);
}

function updateFields(
  { records }: DriverDeps,
  caller: Caller,
  id: number,
  change: Change<Driver>,
  expectedVersion: number | undefined,
): Promise<Driver | null> {
  const drivers = driverCollection(records);
  return updateWithVersion(expectedVersion, async () => {
    const existing = await drivers.find(caller, id);
    if (existing === null) return null;
    assertDatesValid({ ...existing, ...change });
    // The dates were checked together, so the update requires the version that was read.
    const hasDates = change.licenseIssueDate !== undefined || change.licenseExpiryDate !== undefined;
    return drivers.update(caller, id, change, expectedVersion ?? (hasDates ? existing.version : undefined));
  });
}

/** Removes a driver and its vehicle assignments. Returns the driver before the removal, or null. */
export async function deleteDriver(
  deps: DriverDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<DriverResponse | null> {
  const drivers = driverCollection(deps.records);
  const existing = await drivers.find(caller, id);
  if (existing === null) return null;
  assertVersion(existing, expectedVersion);
  const response = await toDriverWithVehicles(deps, existing);
  // Archived first: a crash after the removal would leave trips without a driver name.
  await archiveName(deps.records, existing, new Date());
  if ((await drivers.remove(caller, id, { expectedVersion })) === null) return null;
  await assignVehicles(deps, caller, id, []);
  await dropDriverFromGroups(deps, caller, id);
  await audit(deps, caller, 'drivers.delete', { type: 'drivers', id });
  return response;
}

/**
 * Replaces the vehicles of a driver under a lock, so that concurrent calls do not mix. A driver deleted concurrently
 * gets no vehicles.
 */
async function setVehicles(
  deps: DriverDeps,
  caller: Caller,
  id: number,
  vehicleIds: readonly number[] | undefined,
): Promise<void> {
  if (vehicleIds === undefined) return;
  const assign = (assertHeld: () => void): Promise<void> => assignVehicles(deps, caller, id, vehicleIds, assertHeld);
  await withLock(deps.records.database, `vehicles of driver ${id}`, assign);
  if ((await filterOwnDriverIds(deps, caller, [id])).length === 0) await assignVehicles(deps, caller, id, []);
}

async function assertVehiclesFound(deps: DriverDeps, caller: Caller, ids: readonly number[] = []): Promise<void> {
  if (ids.length > 0) assertAllFound('vehicle', ids, await ownVehicleIds(deps, caller, ids));
}

async function toDriverWithVehicles(
  deps: DriverDeps,
  driver: Driver,
  canNameVehicle?: (vehicleId: number) => boolean,
): Promise<DriverResponse> {
  const vehicles = await vehiclesOfDrivers(deps, driver, [driver._id]);
  return toDriverResponse(driver, vehicles.get(driver._id) ?? [], canNameVehicle);
}
