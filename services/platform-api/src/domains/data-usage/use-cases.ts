import { type DataLimit, dataBudgetSpent, publish } from '@fleet/bus';
import { dayMs } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { raiseVehicleEvents } from '../../event-consumers/vehicle-events.ts';
import type { Deps } from '../../platform/deps.ts';
import { findVideoPreferences } from '../preferences/use-cases.ts';
import { findVehicleByImei } from '../vehicles/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import {
  type DataBudget,
  findBudget,
  getSecondsToNextMonth,
  noticePercents,
  sumBytes,
  summarizeUsage,
  toMonth,
} from './rules.ts';
import type { DataUsageResponse, UsageKind, UsageRecord } from './schema.ts';
import { addUsage, deleteUsageBefore, findOrAddNotice, listUsage, markNotified } from './store.ts';

/** Dependencies of the functions that count. */
export type UsageDeps = Pick<Deps, 'bus' | 'database' | 'log' | 'notifications' | 'records' | 'redis' | 'config'>;

type Store = Pick<Deps, 'database' | 'records'>;

/** Bytes that a device of a vehicle sent: a span of the counter of a stream, or a file. */
export interface SentBytes {
  readonly vehicle: Vehicle;
  /** Identifies the stream or the file. */
  readonly session: string;
  readonly kind: UsageKind;
  readonly channelId: number;
  readonly fromBytes: number;
  readonly toBytes: number;
  readonly atMs: number;
}

/** Counts bytes, each span once however often it is counted, and checks the budgets of the vehicles. */
export async function countSentBytes(deps: UsageDeps, sent: readonly SentBytes[]): Promise<void> {
  if (sent.length === 0) return;
  await addUsage(
    deps.database,
    sent.map((each) => toUsageRecord(each)),
  );
  const vehicles = new Map(sent.map(({ vehicle, atMs }) => [vehicle._id, { vehicle, atMs }]));
  for (const { vehicle, atMs } of vehicles.values()) await checkBudget(deps, vehicle, atMs);
}

function toUsageRecord({ vehicle, session, kind, channelId, fromBytes, toBytes, atMs }: SentBytes): UsageRecord {
  const { _id: vehicleId, accountId, timezone } = vehicle;
  const month = toMonth(timezone, atMs);
  const _id = `${vehicleId}:${month}:${session}`;
  return { _id, accountId, vehicleId, month, kind, channelId, fromBytes, toBytes };
}

const findVehicleBudget = async (deps: Pick<Deps, 'records'>, vehicle: Vehicle): Promise<DataBudget | null> =>
  findBudget(await findVideoPreferences(deps, vehicle.ownerUserId), vehicle._id);

/** Notifies about the budget of a vehicle, and limits its running streams once it is spent. */
async function checkBudget(deps: UsageDeps, vehicle: Vehicle, atMs: number): Promise<void> {
  const budget = await findVehicleBudget(deps, vehicle);
  if (budget === null) return;
  const { _id: vehicleId, imei, timezone } = vehicle;
  const month = toMonth(timezone, atMs);
  const usedBytes = sumBytes(await listUsage(deps.database, vehicleId, month));
  await notifyAboutBudget(deps, vehicle, { budget, month, usedBytes, atMs });
  const isSpent = usedBytes >= budget.bytes && month === toMonth(timezone, Date.now());
  if (isSpent && imei !== null && budget.overBudget !== 'notify')
    publish(deps.bus, dataBudgetSpent, { imei, limit: budget.overBudget });
}

/** The use of a budget in a month. */
interface BudgetUse {
  readonly budget: DataBudget;
  readonly month: string;
  readonly usedBytes: number;
  readonly atMs: number;
}

/** Raises `data_budget` at each percentage that the usage of the month has reached, once. */
async function notifyAboutBudget(
  deps: UsageDeps,
  vehicle: Vehicle,
  { budget, month, usedBytes, atMs }: BudgetUse,
): Promise<void> {
  const { _id: vehicleId, accountId } = vehicle;
  for (const percent of noticePercents) {
    if (usedBytes * 100 < budget.bytes * percent) continue;
    const _id = `${vehicleId}:${month}:${percent}`;
    const fields = { _id, accountId, vehicleId, month, atMs, isNotified: false };
    const notice = await findOrAddNotice(deps.database, fields);
    if (notice.isNotified) continue;
    const attributes = { month, percent, used_bytes: usedBytes, budget_bytes: budget.bytes };
    const event = { type: 'data_budget', subject: `${month}:${percent}`, atMs: notice.atMs, attributes };
    await raiseVehicleEvents(deps, [{ vehicle, event }]);
    await markNotified(deps.database, notice);
  }
}

/** Returns the bytes that the device of a vehicle sent in a month, by default this one. */
export async function getDataUsage(
  deps: Store,
  caller: Caller,
  vehicleId: number,
  requestedMonth: string | undefined,
): Promise<DataUsageResponse> {
  const { vehicle } = await visibleVehicle(deps, caller, vehicleId);
  const month = requestedMonth ?? toMonth(vehicle.timezone, Date.now());
  const [records, budget] = await Promise.all([
    listUsage(deps.database, vehicleId, month),
    findVehicleBudget(deps, vehicle),
  ]);
  return {
    vehicle_id: vehicleId,
    month,
    ...summarizeUsage(records),
    budget: budget && {
      bytes: budget.bytes,
      used_percent: Math.floor((sumBytes(records) * 100) / budget.bytes),
      over_budget: budget.overBudget,
    },
  };
}

/** Returns how the budget of a device limits new streams. */
export async function findDataLimit(deps: Store, imei: string): Promise<DataLimit> {
  const vehicle = await findVehicleByImei(deps.records, imei);
  const budget = vehicle === null ? null : await findVehicleBudget(deps, vehicle);
  if (vehicle === null || budget === null || budget.overBudget === 'notify') return unlimited;
  const nowMs = Date.now();
  const records = await listUsage(deps.database, vehicle._id, toMonth(vehicle.timezone, nowMs));
  if (sumBytes(records) < budget.bytes) return unlimited;
  return { limit: budget.overBudget, retryAfterSeconds: getSecondsToNextMonth(vehicle.timezone, nowMs) };
}

const unlimited: DataLimit = { limit: null, retryAfterSeconds: 0 };

/** Two years, like old positions. */
const retentionDays = 731;

/** Deletes the usage of months that are older than two years. */
export const removeOldUsage = ({ database }: Pick<Deps, 'database'>, nowMs = Date.now()): Promise<void> =>
  deleteUsageBefore(database, toMonth('UTC', nowMs - retentionDays * dayMs));
