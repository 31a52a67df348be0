import { terminalKey } from '@fleet/jt808';
import { AppError, type Page, type Pagination } from '@fleet/service-kit';
import type { Static } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { omitUndefined, toSorting } from '../../platform/fields.ts';
import { type Filter, substringFilter } from '../../store/account-repository.ts';
import { audit } from '../audit/use-cases.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { bodyMoment, deviceChange, deviceDefaults, keyOf } from './rules.ts';
import {
  type clearDatabaseBody,
  type createMiningDeviceBody,
  type ListMiningDevicesBody,
  type MiningDevice,
  type MiningDeviceBody,
  sortFields,
} from './schema.ts';
import { deviceCollection, heartbeatCollection, positionCollection, resetIngested } from './store.ts';

type Parts = Pick<Deps, 'records' | 'database' | 'log'>;

/**
 * Returns a filter for the devices that the caller may see: for the role driver those of the own vehicles, otherwise
 * all of the account.
 */
async function visibilityFilter(deps: Pick<Parts, 'records'>, caller: Caller): Promise<Filter> {
  if (caller.role !== 'driver') return {};
  const visible = await visibleVehicles(deps, caller);
  const own = visible.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle.imei] : []));
  return { imei: { $in: own.filter((imei) => imei !== null) } };
}

/** Returns a page of the mining devices of the account. */
export async function listMiningDevices(
  { records }: Parts,
  caller: Caller,
  { query, sort, filters = {} }: ListMiningDevicesBody,
  paging: Pagination,
): Promise<Page<MiningDevice>> {
  const [seenSince, from, to] = (['seen_since', 'created_from', 'created_to'] as const).map((name) =>
    bodyMoment(filters[name], `filters/${name}`),
  );
  const created = omitUndefined({ $gte: from, $lt: to });
  const where: Filter[] = [
    await visibilityFilter({ records }, caller),
    substringFilter(query ?? undefined, ['imei', 'recordedImei', 'vehicleNo', 'permitNo']),
    omitUndefined({ status: filters.status, site: filters.site }),
  ];
  if (seenSince !== undefined) where.push({ lastSeen: { $gte: seenSince } });
  if (Object.keys(created).length > 0) where.push({ createdAt: created });
  return deviceCollection(records).list(caller, {
    where: { $and: where },
    sorting: toSorting(sort, sortFields),
    paging,
  });
}

export async function readMiningDevice({ records }: Parts, caller: Caller, id: number): Promise<MiningDevice> {
  const where = { $and: [{ _id: id }, await visibilityFilter({ records }, caller)] };
  const device = await deviceCollection(records).findOne(caller, where);
  if (device === null) throw notFound(id);
  return device;
}

export async function createMiningDevice(
  deps: Parts,
  caller: Caller,
  body: Static<typeof createMiningDeviceBody>,
): Promise<MiningDevice> {
  const fields = { ...deviceDefaults, ...deviceChange(body), imei: keyOf(body.imei), recordedImei: body.imei };
  const device = await deviceCollection(deps.records).insert(caller, fields);
  const target = { type: 'mining_devices', id: device._id };
  await audit(deps, caller, 'mining_devices.create', target, { imei: device.imei });
  return device;
}

export async function updateMiningDevice(
  deps: Parts,
  caller: Caller,
  id: number,
  body: MiningDeviceBody,
  expectedVersion: number | undefined,
): Promise<MiningDevice> {
  const device = await deviceCollection(deps.records).update(caller, id, deviceChange(body), expectedVersion);
  if (device === null) throw notFound(id);
  await audit(deps, caller, 'mining_devices.update', { type: 'mining_devices', id }, { fields: Object.keys(body) });
  return device;
}

/** Deletes a device; returns it as it was. */
export async function deleteMiningDevice(
  deps: Parts,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<MiningDevice> {
  const device = await deviceCollection(deps.records).remove(caller, id, { expectedVersion });
  if (device === null) throw notFound(id);
  await audit(deps, caller, 'mining_devices.delete', { type: 'mining_devices', id });
  return device;
}

/**
 * Deletes positions and heartbeats that partners sent, but never devices. Deletes all of the account, those of one
 * device, or those before a time.
 */
export async function clearDatabase(
  deps: Parts,
  caller: Caller,
  { imei, before }: Static<typeof clearDatabaseBody>,
): Promise<{ locations_deleted: number; heartbeats_deleted: number }> {
  const { records, database } = deps;
  const moment = bodyMoment(before, 'before');
  const where = {
    ...(typeof imei === 'string' ? { imei: terminalKey(imei) ?? '' } : {}),
    ...(moment === undefined ? {} : { timestamp: { $lt: moment } }),
  };
  const positions = await positionCollection(database).clear(caller, where);
  const heartbeats = await heartbeatCollection(database).clear(caller, where);
  for (const cleared of new Set([...positions.imeis, ...heartbeats.imeis])) {
    const [dataCount, newest, heartbeat] = await Promise.all([
      positionCollection(database).count(caller, cleared),
      positionCollection(database).newest(caller, cleared),
      heartbeatCollection(database).newest(caller, cleared),
    ]);
    const seen = [newest?.receivedAt, heartbeat?.receivedAt].filter((at) => at !== undefined);
    const lastSeen = seen.length === 0 ? null : new Date(Math.max(...seen.map((at) => at.getTime())));
    await resetIngested(records, caller, cleared, { dataCount, lastPosition: withoutId(newest), lastSeen });
  }
  const response = { locations_deleted: positions.count, heartbeats_deleted: heartbeats.count };
  const detail = { imei: imei ?? null, before: moment?.toISOString() ?? null, ...response };
  await audit(deps, caller, 'mining_devices.clear_database', null, detail);
  return response;
}

function withoutId<T extends { readonly _id: string }>(item: T | null): Omit<T, '_id'> | null {
  if (item === null) return null;
  const { _id, ...fields } = item;
  return fields;
}

const notFound = (id: number): AppError => new AppError('not_found', `There is no mining device ${id}.`);
