import type { Deps } from '../../platform/deps.ts';
import { deletePreviousState, deleteTerminalState } from '../vehicle-states/commands.ts';
import type { VehicleHooks } from './hooks.ts';
import { completeCleanup, runAllSteps, scheduleCleanup } from './pending-cleanups.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei } from './store.ts';

type CleanupDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log'>;

/** Differs from the vehicle's own id, as the vehicle may be deleted before this has ended. */
const cleanupId = ({ _id, imei }: Vehicle): string => `${_id}:${imei}`;

/** Records that the terminal of a vehicle is about to leave it, so that a job deletes what `cleanUpTerminal` does not. */
export const scheduleTerminalCleanup = ({ records }: Pick<CleanupDeps, 'records'>, former: Vehicle): Promise<void> =>
  scheduleCleanup(records.database, former, { _id: cleanupId(former) });

/**
 * Deletes the state of a former terminal and cancels its commands. The next holder of the terminal, perhaps in another
 * account, must not see its positions or get commands meant for this vehicle. A job retries what fails.
 */
export async function cleanUpTerminal(deps: CleanupDeps, former: Vehicle, hooks: VehicleHooks): Promise<void> {
  const { database } = deps.records;
  const isDone = await runAllSteps(deps.log, former, [
    () => deleteTerminalState(deps, former),
    ...hooks.terminalRemoved.map((hook) => () => hook(former)),
  ]);
  if (isDone) await runAllSteps(deps.log, former, [() => completeCleanup(database, cleanupId(former))]);
}

/** Retries the deletion after a terminal left its vehicle; returns false if it fails again. */
export async function retryTerminalCleanup(deps: CleanupDeps, former: Vehicle, hooks: VehicleHooks): Promise<boolean> {
  const { imei } = former;
  const holder = imei === null ? null : await findVehicleByImei(deps.records, imei);
  // The terminal has not left after all, or is back.
  if (holder?._id === former._id) return true;
  return runAllSteps(deps.log, former, [
    () => (holder === null ? deleteTerminalState(deps, former) : deletePreviousState(deps, former)),
    ...hooks.terminalRemoved.map((hook) => () => hook(former)),
  ]);
}
