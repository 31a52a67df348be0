import { dayMs } from '@fleet/service-kit';
import type { Driver } from '../domains/drivers/schema.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { EventConsumerDeps, VehicleEvent } from './vehicle-events.ts';
import { raiseVehicleEvents } from './vehicle-events.ts';

/** Days before the expiry of a licence at which a notification is created. */
const noticeDays = [30, 7, 0] as const;
const batchSize = 500;

interface AccountZone {
  readonly _id: number;
  readonly timezone: string;
}

/**
 * Creates `document_expiry` for licences of drivers that expire in 30 or 7 days or today, by the account's calendar,
 * for each of the driver's vehicles. Idempotent: one notification per licence and notice. A missed day is made up for
 * by the next one, up to the next notice.
 */
export async function raiseDocumentExpiry(deps: EventConsumerDeps, nowMs = Date.now()): Promise<number> {
  const timezones = new Map<number, string>();
  let count = 0;
  let after = 0;
  for (;;) {
    const drivers = await findExpiringDrivers(deps, after, nowMs);
    const last = drivers.at(-1);
    if (last === undefined) return count;
    after = last._id;
    for (const driver of drivers)
      count += await raiseForDriver(deps, driver, await accountTimezone(deps, timezones, driver.accountId), nowMs);
  }
}

/** Returns drivers whose licence expires soon, or expired at most a day ago: calendars differ by a day. */
function findExpiringDrivers({ records }: EventConsumerDeps, after: number, nowMs: number): Promise<Driver[]> {
  const [from, to] = [-1, noticeDays[0] + 1].map((days) => new Date(nowMs + days * dayMs).toISOString().slice(0, 10));
  const where: object = { _id: { $gt: after }, status: 'active', licenseExpiryDate: { $gte: from, $lte: to } };
  return records.collection<Driver>('drivers').find(where).sort({ _id: 1 }).limit(batchSize).toArray();
}

async function accountTimezone(
  { database }: EventConsumerDeps,
  known: Map<number, string>,
  accountId: number,
): Promise<string> {
  const timezone = known.get(accountId);
  if (timezone !== undefined) return timezone;
  const account = await database.collection<AccountZone>('accounts').findOne({ _id: accountId });
  known.set(accountId, account?.timezone ?? 'UTC');
  return known.get(accountId) ?? 'UTC';
}

async function raiseForDriver(
  deps: EventConsumerDeps,
  driver: Driver,
  timezone: string,
  nowMs: number,
): Promise<number> {
  const { licenseExpiryDate: date } = driver;
  if (date === null) return 0;
  const daysLeft = daysBetween(today(timezone, nowMs), date);
  // The nearest due notice: the 30-day one until the 7-day one.
  const notice = noticeDays.findLast((days) => daysLeft <= days);
  if (notice === undefined || daysLeft < 0) return 0;
  const vehicles = await deps.records
    .collection<Vehicle>('vehicles')
    .find({ accountId: driver.accountId, driverId: driver._id } as object)
    .toArray();
  const event: VehicleEvent = {
    type: 'document_expiry',
    subject: `license:${driver._id}:${notice}`,
    // Derived from licence and notice, so that repetitions are equal.
    atMs: Date.parse(`${date}T00:00:00Z`) - notice * dayMs,
    driverId: driver._id,
    attributes: {
      document: 'license',
      driver_id: driver._id,
      driver_name: driver.name,
      expiry_date: date,
      days_left: notice,
    },
  };
  await raiseVehicleEvents(
    deps,
    vehicles.map((vehicle) => ({ vehicle, event })),
  );
  return vehicles.length;
}

/** Returns the date in an IANA time zone. */
const today = (timezone: string, nowMs: number): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone: timezone, year: 'numeric', month: '2-digit', day: '2-digit' }).format(
    nowMs,
  );

const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(`${to}T00:00:00Z`) - Date.parse(`${from}T00:00:00Z`)) / dayMs);
