import type { Database } from '@fleet/storage';
import type { Vehicle } from './schema.ts';

/** A vehicle that is deleted, while what goes on with it may not all have ended; `_id` is that of the vehicle. */
interface Ending {
  readonly _id: number;
  readonly accountId: number;
  readonly vehicle: Vehicle;
  readonly notedAt: Date;
  /** When it is tried once more. */
  readonly dueAt: Date;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const atOnce = 100;

const endingsIn = (database: Database) => database.collection<Ending>('vehicle_endings');

/** Notes that what goes on with a vehicle is to be ended; it is tried again in a minute, later less often. */
export async function noteEnding(
  database: Database,
  vehicle: Vehicle,
  notedAt = new Date(),
  now = notedAt,
): Promise<void> {
  const { _id, accountId } = vehicle;
  const waitMs = Math.min(hourMs, Math.max(minuteMs, now.getTime() - notedAt.getTime()));
  const ending = { accountId, vehicle, notedAt, dueAt: new Date(now.getTime() + waitMs) };
  await endingsIn(database).replaceOne({ _id }, ending, { upsert: true });
}

/** All has ended. */
export async function forgetEnding(database: Database, vehicleId: number): Promise<void> {
  await endingsIn(database).deleteOne({ _id: vehicleId });
}

/** What is to be tried again, due first. */
export const dueEndings = (database: Database, now: Date): Promise<Ending[]> =>
  endingsIn(database)
    .find({ dueAt: { $lte: now } })
    .sort({ dueAt: 1 })
    .limit(atOnce)
    .toArray();
