import { terminalKey } from '@fleet/jt808';
import { AppError, type Page, type Pagination, parseSort, type Sort } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { type Filter, type ReadScope, type Scope, substringFilter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { compareRecords } from '../../store/union-page.ts';
import type { SubscriptionResponse } from '../billing/schema.ts';
import { findSubscriptions } from '../billing/subscriptions.ts';
import { travelledKm } from '../positions/travelled.ts';
import { groupAndDescendantIds } from '../vehicle-groups/queries.ts';
import { findDevices, withDeviceDetails } from './devices.ts';
import { readLiveStates } from './live-states.ts';
import { toVehicleResponse } from './responses.ts';
import { defaultCameraUtcOffset, normalizeVehicleNo, vehicleDefaults } from './rules.ts';
import type { ListVehiclesQuery, Vehicle, VehicleResponse } from './schema.ts';
import { findVehicleByImei, vehicleCollection } from './store.ts';
import { accessTo, findVisibility, type Viewer, type VisibleVehicle } from './visibility.ts';

/** Dependencies of the functions that read vehicles. */
export type VehicleDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>;

const sortFields: Readonly<Record<string, string>> = {
  vehicle_no: 'vehicleNo',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
};

/** Returns a page of the vehicles that the caller may see. */
export async function listVehicles(
  deps: VehicleDeps,
  caller: Viewer,
  query: ListVehiclesQuery,
  paging: Pagination,
): Promise<Page<VehicleResponse>> {
  const visible = await findVisibility(deps, caller);
  const { field, direction } = parseSort(query.sort);
  const where = { $and: await toFilters(deps, caller, query) };
  const sorting = { field: sortFields[field] ?? field, direction };
  const { items, total } = await (query.state === undefined
    ? vehicleCollection(deps.records).list(visible.scope, { where, sorting, paging })
    : listInState(deps, visible.scope, query.state, { where, sorting, paging }));
  const found = items.map((vehicle) => ({
    vehicle,
    ...accessTo(vehicle, caller, visible.shares.get(vehicle._id)),
  }));
  return { items: await toVehicleResponses(deps, found), total };
}

/** Returns vehicles with the current state of their terminals and their subscriptions. */
export async function toVehicleResponses(
  deps: VehicleDeps,
  found: readonly VisibleVehicle[],
): Promise<VehicleResponse[]> {
  const imeis = found.flatMap(({ vehicle: { imei } }) => (imei === null ? [] : [imei]));
  const [states, devices, subscriptions, travelled] = await Promise.all([
    readLiveStates(deps, imeis),
    findDevices(deps.records.database, imeis),
    findOwnSubscriptions(deps, found),
    travelledKm(
      deps,
      found.map(({ vehicle }) => vehicle),
    ),
  ]);
  return found.map((visible) => {
    const { imei, _id: id } = visible.vehicle;
    const now = imei === null ? undefined : withDeviceDetails(states.get(imei), devices.get(imei));
    return toVehicleResponse(visible, now, subscriptions.get(id), travelled.get(id));
  });
}

/** Returns one vehicle like `toVehicleResponses`. */
export async function toCurrentResponse(deps: VehicleDeps, visible: VisibleVehicle): Promise<VehicleResponse> {
  const [response] = await toVehicleResponses(deps, [visible]);
  if (response === undefined) throw new Error('a vehicle has no response');
  return response;
}

/** Returns the subscriptions of the caller's own vehicles with one query, as they all belong to one account. */
async function findOwnSubscriptions(
  { records }: VehicleDeps,
  found: readonly VisibleVehicle[],
): Promise<ReadonlyMap<number, SubscriptionResponse>> {
  const own = found.flatMap(({ access, vehicle }) => (access === 'owner' ? [vehicle] : []));
  const [first] = own;
  const ids = own.map(({ _id }) => _id);
  return first === undefined ? new Map() : findSubscriptions({ records }, { accountId: first.accountId }, ids);
}

async function toFilters(deps: VehicleDeps, caller: Viewer, query: ListVehiclesQuery): Promise<Filter[]> {
  const { accountId } = caller;
  const filters: Filter[] = [toSearchFilter(query.query)];
  if (query.imei !== undefined) {
    const vehicle = await findVehicleByImei(deps.records, terminalKey(query.imei) ?? 'no terminal');
    filters.push({ _id: { $in: vehicle === null ? [] : [vehicle._id] } });
  }
  // Drivers and groups belong to the caller's account. Those of a shared vehicle must not be revealed, not even by a
  // filter.
  if (query.driver_id !== undefined) filters.push({ accountId, driverId: query.driver_id });
  if (query.group_id !== undefined)
    filters.push({ accountId, groupIds: { $in: await groupAndDescendantIds(deps, caller, query.group_id) } });
  return filters;
}

/** Returns a filter for the text in any of the fields; a vehicle number also matches with spaces in it. */
function toSearchFilter(text: string | undefined): Filter {
  const fields = substringFilter(text, ['vehicleNo', 'name', 'imei', 'recordedImei']);
  const vehicleNo = normalizeVehicleNo(text ?? '');
  return vehicleNo === '' ? fields : { $or: [fields, substringFilter(vehicleNo, ['vehicleNo'])] };
}

/**
 * Returns a page of the vehicles in a state. States are not stored, so all vehicles that match the other filters are
 * read.
 */
async function listInState(
  deps: VehicleDeps,
  scope: ReadScope,
  state: VehicleResponse['state'],
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Vehicle>> {
  const vehicles = vehicleCollection(deps.records);
  const { direction } = sorting;
  const field = sorting.field === 'id' ? '_id' : (sorting.field as 'name');
  const found = await vehicles.project(scope, ['imei', field], where);
  const states = await readLiveStates(
    deps,
    found.flatMap(({ imei }) => (imei === null ? [] : [imei])),
  );
  const stateOf = (imei: string | null) => (imei === null ? undefined : states.get(imei)?.state) ?? 'never_connected';
  const inState = found
    .filter(({ imei }) => stateOf(imei) === state)
    .sort((a, b) => compareRecords(a, b, { field, direction }));
  const ids = inState.slice(paging.offset, paging.offset + paging.limit).map(({ _id }) => _id);
  const page = new Map((await vehicles.findMany(scope, ids)).map((vehicle) => [vehicle._id, vehicle]));
  return { items: ids.flatMap((id) => page.get(id) ?? []), total: inState.length };
}

/**
 * Returns what other services need about a terminal. A terminal without a vehicle is unknown and has the default clock.
 */
export async function findDevice(
  records: RecordStore,
  imei: string,
): Promise<{ known: boolean; accountId: number | null; vehicleId: number | null; cameraUtcOffset: string }> {
  const vehicle = await findVehicleByImei(records, imei);
  if (vehicle === null)
    return { known: false, accountId: null, vehicleId: null, cameraUtcOffset: defaultCameraUtcOffset };
  const { _id: vehicleId, accountId, cameraUtcOffset } = vehicle;
  return { known: true, accountId, vehicleId, cameraUtcOffset };
}

/** Returns the vehicle of a terminal in any account by canonical number; null for an unknown terminal. */
export const vehicleByImei = (records: RecordStore, imei: string): Promise<Vehicle | null> =>
  findVehicleByImei(records, imei);

/** Returns vehicles of an account by id. */
export const vehiclesById = async (
  records: RecordStore,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Vehicle>> =>
  new Map((await vehicleCollection(records).findMany(scope, ids)).map((vehicle) => [vehicle._id, vehicle]));

/** Vehicle that a tool or the initial setup creates. */
interface VehicleInput {
  readonly accountId: number;
  readonly ownerUserId: number;
  readonly vehicleNo: string;
  readonly name?: string;
  /** Number as the terminal sends it, or canonical. */
  readonly imei: string;
  readonly cameraUtcOffset?: string;
}

/**
 * Creates a vehicle with its terminal. A terminal belongs to one vehicle of the whole system, which is returned if it
 * exists.
 */
export async function ensureVehicle(
  records: RecordStore,
  { accountId, ownerUserId, imei, cameraUtcOffset = defaultCameraUtcOffset, ...given }: VehicleInput,
): Promise<{ record: Vehicle; created: boolean }> {
  const key = terminalKey(imei) ?? imei;
  const known = await findVehicleByImei(records, key);
  if (known !== null) return { record: known, created: false };
  const vehicleNo = normalizeVehicleNo(given.vehicleNo);
  const fields = { ...vehicleDefaults, ownerUserId, vehicleNo, name: given.name ?? vehicleNo, cameraUtcOffset };
  try {
    const record = await vehicleCollection(records).insert({ accountId }, { ...fields, imei: key, recordedImei: imei });
    return { record, created: true };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'duplicate') throw error;
    // The vehicle was created concurrently.
    const concurrent = await findVehicleByImei(records, key);
    if (concurrent === null) throw error;
    return { record: concurrent, created: false };
  }
}

/** Passes the vehicles of a deleted user to another user of the account. */
export const transferVehicles = (
  records: RecordStore,
  scope: Scope,
  fromUserId: number,
  toUserId: number,
): Promise<number> =>
  vehicleCollection(records).updateMany(scope, { ownerUserId: fromUserId }, { $set: { ownerUserId: toUserId } });
