import { hourMs, type Logger, minuteMs } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import type { Vehicle } from './schema.ts';

/** Id of a deleted vehicle, or a text for a terminal that leaves one (`terminal-cleanup.ts`). */
type CleanupId = number | string;

/** Vehicle as it was before it was deleted, or its terminal left it. Stored until all of its activities have ended. */
interface PendingCleanup {
  readonly _id: CleanupId;
  readonly accountId: number;
  readonly vehicle: Vehicle;
  readonly notedAt: Date;
  /** Time of the next attempt. */
  readonly dueAt: Date;
}

const batchSize = 100;

const cleanupCollection = (database: Database) => database.collection<PendingCleanup>('vehicle_endings');

/** Schedules the cleanup of a vehicle. It is retried after a minute, later less often. */
export async function scheduleCleanup(
  database: Database,
  vehicle: Vehicle,
  { _id = vehicle._id, notedAt = new Date(), now = notedAt }: { _id?: CleanupId; notedAt?: Date; now?: Date } = {},
): Promise<void> {
  const { accountId } = vehicle;
  const waitMs = Math.min(hourMs, Math.max(minuteMs, now.getTime() - notedAt.getTime()));
  const cleanup = { accountId, vehicle, notedAt, dueAt: new Date(now.getTime() + waitMs) };
  await cleanupCollection(database).replaceOne({ _id }, cleanup, { upsert: true });
}

/** Deletes a cleanup after all activities have ended. */
export async function completeCleanup(database: Database, _id: CleanupId): Promise<void> {
  await cleanupCollection(database).deleteOne({ _id });
}

/** Returns the cleanups that are due, the earliest first. */
export const findDueCleanups = (database: Database, now: Date): Promise<PendingCleanup[]> =>
  cleanupCollection(database)
    .find({ dueAt: { $lte: now } })
    .sort({ dueAt: 1 })
    .limit(batchSize)
    .toArray();

/** Runs each step, even if others fail; returns false if one has failed. */
export async function runAllSteps(
  log: Logger,
  { _id: vehicleId }: Vehicle,
  steps: readonly (() => Promise<void>)[],
): Promise<boolean> {
  let areAllDone = true;
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      areAllDone = false;
      log.error({ err: error, vehicleId }, 'could not do all that follows a change of a vehicle yet');
    }
  }
  return areAllDone;
}
