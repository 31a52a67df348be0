import type { Logger } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import type { Vehicle } from './schema.ts';

/** `_id` of a vehicle that is deleted; a text for a terminal that leaves one (`former-terminals.ts`). */
type EndingId = number | string;

/** A vehicle as it was before it was deleted, or its terminal left it, while what goes on with it may not all have ended. */
interface Ending {
  readonly _id: EndingId;
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
export async function scheduleCleanup(
  database: Database,
  vehicle: Vehicle,
  { _id = vehicle._id, notedAt = new Date(), now = notedAt }: { _id?: EndingId; notedAt?: Date; now?: Date } = {},
): Promise<void> {
  const { accountId } = vehicle;
  const waitMs = Math.min(hourMs, Math.max(minuteMs, now.getTime() - notedAt.getTime()));
  const ending = { accountId, vehicle, notedAt, dueAt: new Date(now.getTime() + waitMs) };
  await endingsIn(database).replaceOne({ _id }, ending, { upsert: true });
}

/** All has ended. */
export async function completeCleanup(database: Database, _id: EndingId): Promise<void> {
  await endingsIn(database).deleteOne({ _id });
}

/** What is to be tried again, due first. */
export const dueEndings = (database: Database, now: Date): Promise<Ending[]> =>
  endingsIn(database)
    .find({ dueAt: { $lte: now } })
    .sort({ dueAt: 1 })
    .limit(atOnce)
    .toArray();

/** Takes each step, whichever fails; false where one has. */
export async function runEach(
  log: Logger,
  { _id: vehicleId }: Vehicle,
  steps: readonly (() => Promise<void>)[],
): Promise<boolean> {
  let isDone = true;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      isDone = false;
      log.error({ err: error, vehicleId }, 'something of a vehicle or its former terminal could not be ended yet');
    }
  }
  return isDone;
}
