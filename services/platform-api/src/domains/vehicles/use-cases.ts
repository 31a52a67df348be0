import { terminalKey } from '@fleet/jt808';
import { AppError, type Page, type Pagination, parseSort, type Sort } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { type Filter, type ReadScope, type Scope, substringFilter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { compareRecords } from '../../store/union-page.ts';
import type { SubscriptionResponse } from '../billing/schema.ts';
import { findSubscriptions } from '../billing/subscriptions.ts';
import { travelledKm } from '../positions/travelled.ts';
import { groupWithBelow } from '../vehicle-groups/links.ts';
import { findDevices, withDetails } from './devices.ts';
import { toVehicleResponse } from './responses.ts';
import { defaultCameraUtcOffset, normalVehicleNo, vehicleDefaults } from './rules.ts';
import type { ListVehiclesQuery, Vehicle, VehicleResponse } from './schema.ts';
import { vehicleStates } from './states.ts';
import { findVehicleByImei, vehiclesIn } from './store.ts';
import { accessTo, type Viewer, type VisibleVehicle, visibleTo } from './visibility.ts';

/** What reading vehicles needs. */
export type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

const sortFields: Readonly<Record<string, string>> = {
  vehicle_no: 'vehicleNo',
  created_at: 'createdAt',
  updated_at: 'updatedAt',
};

/** A page of the vehicles that the caller may see. */
export async function listVehicles(
  deps: Parts,
  caller: Viewer,
  query: ListVehiclesQuery,
  paging: Pagination,
): Promise<Page<VehicleResponse>> {
  const visible = await visibleTo(deps, caller);
  const { field, direction } = parseSort(query.sort);
  const where = { $and: await filtersOf(deps, caller, query) };
  const sorting = { field: sortFields[field] ?? field, direction };
  const { items, total } = await (query.state === undefined
    ? vehiclesIn(deps.records).list(visible.scope, { where, sorting, paging })
    : pageInState(deps, visible.scope, query.state, { where, sorting, paging }));
  const found = items.map((vehicle) => ({
    vehicle,
    ...accessTo(vehicle, caller, visible.shares.get(vehicle._id)),
  }));
  return { items: await toVehiclesResponse(deps, found), total };
}

/** Vehicles with what is known of their terminals at this moment, and until when they are paid for. */
export async function toVehiclesResponse(deps: Parts, found: readonly VisibleVehicle[]): Promise<VehicleResponse[]> {
  const imeis = found.flatMap(({ vehicle: { imei } }) => (imei === null ? [] : [imei]));
  const [states, devices, subscriptions, travelled] = await Promise.all([
    vehicleStates(deps, imeis),
    findDevices(deps.records.database, imeis),
    ownSubscriptions(deps, found),
    travelledKm(
      deps,
      found.map(({ vehicle }) => vehicle),
    ),
  ]);
  return found.map((visible) => {
    const { imei, _id: id } = visible.vehicle;
    const now = imei === null ? undefined : withDetails(states.get(imei), devices.get(imei));
    return toVehicleResponse(visible, now, subscriptions.get(id), travelled.get(id));
  });
}

/** One vehicle as `shownVehicles` shows it. */
export async function shownNow(deps: Parts, visible: VisibleVehicle): Promise<VehicleResponse> {
  const [response] = await toVehiclesResponse(deps, [visible]);
  if (response === undefined) throw new Error('a vehicle has no answer');
  return response;
}

/** Of the vehicles of the caller's own account, which are of one account all: one query. */
async function ownSubscriptions(
  { records }: Parts,
  found: readonly VisibleVehicle[],
): Promise<ReadonlyMap<number, SubscriptionResponse>> {
  const own = found.flatMap(({ access, vehicle }) => (access === 'owner' ? [vehicle] : []));
  const [first] = own;
  const ids = own.map(({ _id }) => _id);
  return first === undefined ? new Map() : findSubscriptions({ records }, { accountId: first.accountId }, ids);
}

async function filtersOf(deps: Parts, caller: Viewer, query: ListVehiclesQuery): Promise<Filter[]> {
  const { accountId } = caller;
  const filters: Filter[] = [searchOf(query.query)];
  if (query.imei !== undefined) {
    const vehicle = await findVehicleByImei(deps.records, terminalKey(query.imei) ?? 'no terminal');
    filters.push({ _id: { $in: vehicle === null ? [] : [vehicle._id] } });
  }
  // Drivers and groups are the caller's own: of a shared vehicle they are not told, not even by a filter.
  if (query.driver_id !== undefined) filters.push({ accountId, driverId: query.driver_id });
  if (query.group_id !== undefined)
    filters.push({ accountId, groupIds: { $in: await groupWithBelow(deps, caller, query.group_id) } });
  return filters;
}

/** The text in any of the fields; a vehicle number also where blanks stand in it. */
function searchOf(text: string | undefined): Filter {
  const fields = substringFilter(text, ['vehicleNo', 'name', 'imei', 'recordedImei']);
  const vehicleNo = normalVehicleNo(text ?? '');
  return vehicleNo === '' ? fields : { $or: [fields, substringFilter(vehicleNo, ['vehicleNo'])] };
}

/** Returns a page of the vehicles in a state. The database has no states: all vehicles that the other filters leave are read. */
async function pageInState(
  deps: Parts,
  scope: ReadScope,
  state: VehicleResponse['state'],
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Vehicle>> {
  const vehicles = vehiclesIn(deps.records);
  const { direction } = sorting;
  const field = sorting.field === 'id' ? '_id' : (sorting.field as 'name');
  const found = await vehicles.project(scope, ['imei', field], where);
  const states = await vehicleStates(
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

/** What the other services need to know of a terminal; one without a vehicle is unknown and has the default clock. */
export async function findDevice(
  records: RecordStore,
  imei: string,
): Promise<{ known: boolean; accountId: number | null; cameraUtcOffset: string }> {
  const vehicle = await findVehicleByImei(records, imei);
  if (vehicle === null) return { known: false, accountId: null, cameraUtcOffset: defaultCameraUtcOffset };
  return { known: true, accountId: vehicle.accountId, cameraUtcOffset: vehicle.cameraUtcOffset };
}

/** The vehicle of a terminal by its canonical number, in whatever account; null for an unknown terminal. */
export const vehicleByImei = (records: RecordStore, imei: string): Promise<Vehicle | null> =>
  findVehicleByImei(records, imei);

/** Vehicles of an account by id. */
export const vehiclesById = async (
  records: RecordStore,
  scope: Scope,
  ids: readonly number[],
): Promise<Map<number, Vehicle>> =>
  new Map((await vehiclesIn(records).findMany(scope, ids)).map((vehicle) => [vehicle._id, vehicle]));

/** A vehicle as tools and the first records make it. */
export interface VehicleToRecord {
  readonly accountId: number;
  readonly ownerUserId: number;
  readonly vehicleNo: string;
  readonly name?: string;
  /** As the terminal sends it, or canonical. */
  readonly imei: string;
  readonly cameraUtcOffset?: string;
}

/** Puts a vehicle and its terminal on record; a terminal belongs to one vehicle of the whole system, which is answered where it is known. */
export async function recordVehicle(
  records: RecordStore,
  { accountId, ownerUserId, imei, cameraUtcOffset = defaultCameraUtcOffset, ...given }: VehicleToRecord,
): Promise<{ record: Vehicle; created: boolean }> {
  const key = terminalKey(imei) ?? imei;
  const known = await findVehicleByImei(records, key);
  if (known !== null) return { record: known, created: false };
  const vehicleNo = normalVehicleNo(given.vehicleNo);
  const fields = { ...vehicleDefaults, ownerUserId, vehicleNo, name: given.name ?? vehicleNo, cameraUtcOffset };
  try {
    const record = await vehiclesIn(records).insert({ accountId }, { ...fields, imei: key, recordedImei: imei });
    return { record, created: true };
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'duplicate') throw error;
    // Another maker was faster.
    const winner = await findVehicleByImei(records, key);
    if (winner === null) throw error;
    return { record: winner, created: false };
  }
}

/** A user is deleted: the vehicles that were his or hers belong to another one of the account. */
export const passVehicles = (
  records: RecordStore,
  scope: Scope,
  fromUserId: number,
  toUserId: number,
): Promise<number> =>
  vehiclesIn(records).updateMany(scope, { ownerUserId: fromUserId }, { $set: { ownerUserId: toUserId } });
