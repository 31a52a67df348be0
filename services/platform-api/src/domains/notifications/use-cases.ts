import { AppError, type Page, type Pagination } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { toSorting } from '../../platform/fields.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { type Filter, substringFilter } from '../../store/account-repository.ts';
import { groupAndDescendantIds } from '../vehicle-groups/queries.ts';
import { vehiclesInGroups } from '../vehicles/assignments.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { notificationNotFound } from './acknowledge.ts';
import { dayAt, readRecordDate, requireKnownFilter, windowOfDay } from './rules.ts';
import type { ListQuery, Notification, SummaryQuery, SummaryResponse, VehicleListQuery } from './schema.ts';
import { countNotifications, findNotification, listNotifications, listTypes } from './store.ts';
import { isVisible, visibleNotifications } from './visibility.ts';

type Store = Pick<Deps, 'records'>;

/** Returns the notifications of one vehicle on a day of its time zone, or between two times. */
export async function listOfVehicle(
  deps: Store,
  caller: Caller,
  vehicleId: number,
  query: VehicleListQuery,
  paging: Pagination,
  nowMs = Date.now(),
): Promise<Page<Notification>> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId, 'notifications');
  const visible = { accountId: vehicle.accountId, ownVehicleIds: [vehicleId], sharedVehicleIds: [] };
  const where = { ...filtersOf(query), timestamp: timesOf(query, vehicle.timezone, nowMs) };
  return listNotifications(deps.records, visible, { where, sorting: toSorting(query.sort), paging });
}

/** Returns the notifications of all vehicles whose notifications the caller may see. */
export async function listAll(
  deps: Store,
  caller: Caller,
  query: ListQuery,
  paging: Pagination,
): Promise<Page<Notification>> {
  const where = await toFilter(deps, caller, query);
  const visible = await visibleNotifications(deps, caller);
  return listNotifications(deps.records, visible, { where, sorting: toSorting(query.sort), paging });
}

/** Returns a notification; throws 404 if the caller may not see it. */
export async function readNotification(deps: Store, caller: Caller, id: number): Promise<Notification> {
  const [notification, visible] = await Promise.all([
    findNotification(deps.records, id),
    visibleNotifications(deps, caller),
  ]);
  if (notification === null || !isVisible(visible, notification)) throw notificationNotFound(id);
  return notification;
}

/** Returns how many notifications match the filters: all, the open ones by severity, and all by type. */
export async function summarize(deps: Store, caller: Caller, query: SummaryQuery): Promise<SummaryResponse> {
  const where = await toFilter(deps, caller, query);
  const visible = await visibleNotifications(deps, caller);
  const countWhere = (more: Filter): Promise<number> =>
    countNotifications(deps.records, visible, { $and: [where, more] });
  const countOpen = (severity: Notification['severity']): Promise<number> =>
    countWhere({ severity, acknowledgedAt: null });
  const types = await listTypes(deps.records, visible, where);
  const [critical, warning, info, ...counts] = await Promise.all([
    countOpen('critical'),
    countOpen('warning'),
    countOpen('info'),
    ...types.map((type) => countWhere({ type })),
  ]);
  return {
    total: counts.reduce((sum, each) => sum + each, 0),
    open: { critical, warning, info },
    by_type: Object.fromEntries(types.map((type, at) => [type, counts[at] ?? 0])),
  };
}

async function toFilter(deps: Store, caller: Caller, query: SummaryQuery): Promise<Filter> {
  const { accountId } = caller;
  const between = betweenOf(query);
  const { category, acknowledged, vehicle_id: vehicleIds, group_id: groupId, driver_id: driverId } = query;
  const filters: Filter[] = [filtersOf(query), substringFilter(query.query, ['title', 'vehicleNo', 'address'])];
  if (between !== undefined) filters.push({ timestamp: between });
  if (category !== undefined) filters.push({ category });
  if (acknowledged !== undefined) filters.push({ acknowledgedAt: acknowledged ? { $ne: null } : null });
  if (vehicleIds !== undefined) filters.push({ vehicleId: { $in: vehicleIds.split(',').map(Number) } });
  // Drivers and groups belong to the caller's account; those of a shared vehicle must not be revealed.
  if (driverId !== undefined) filters.push({ accountId, driverId });
  if (groupId !== undefined) {
    const vehicles = await vehiclesInGroups(deps, caller, await groupAndDescendantIds(deps, caller, groupId));
    filters.push({ accountId, vehicleId: { $in: vehicles } });
  }
  return { $and: filters };
}

function filtersOf({ type, severity }: { type?: string; severity?: string }): Filter {
  const types = type
    ?.split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '');
  requireKnownFilter(types ?? []);
  return {
    ...(types === undefined ? {} : { type: { $in: types } }),
    ...(severity === undefined ? {} : { severity }),
  };
}

function timesOf(query: VehicleListQuery, timeZone: string, nowMs: number): Filter {
  const between = betweenOf(query);
  if (between !== undefined && query.record_date !== undefined)
    throw new AppError('conflicting_parameters', 'The parameter record_date cannot be combined with from and to.');
  if (between !== undefined) return between;
  const day = query.record_date === undefined ? dayAt(nowMs, timeZone) : readRecordDate(query.record_date);
  const { fromMs, toMs } = windowOfDay(day, timeZone);
  return { $gte: fromMs, $lt: toMs };
}

function betweenOf(query: { from?: string; to?: string }): Filter | undefined {
  const [from, to] = [parseTimestamp(query.from, 'from'), parseTimestamp(query.to, 'to')];
  if (from === undefined && to === undefined) return undefined;
  return {
    ...(from === undefined ? {} : { $gte: from.getTime() }),
    ...(to === undefined ? {} : { $lt: to.getTime() }),
  };
}
