import type { Deps } from '../../platform/deps.ts';
import { deletePreviousState, deleteTerminalState } from '../vehicle-states/commands.ts';
import { completeCleanup, runEach, scheduleCleanup } from './endings.ts';
import type { VehicleHooks } from './hooks.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei } from './store.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

/** Beside the vehicle's own number, as it may be deleted while this goes on. */
const cleanupId = ({ _id, imei }: Vehicle): string => `${_id}:${imei}`;

/** Notes that the terminal of a vehicle is about to leave it, so that a sweep forgets what `cleanUpTerminal` does not. */
export const scheduleTerminalCleanup = ({ records }: Pick<Parts, 'records'>, former: Vehicle): Promise<void> =>
  scheduleCleanup(records.database, former, { _id: cleanupId(former) });

/** Whoever has the terminal next, perhaps in another account, is not to see where it was, nor to get what was meant for it here. What fails is left to the sweep. */
export async function cleanUpTerminal(deps: Parts, former: Vehicle, hooks: VehicleHooks): Promise<void> {
  const { database } = deps.records;
  const isDone = await runEach(deps.log, former, [
    () => deleteTerminalState(deps, former),
    ...hooks.terminalRemoved.map((hook) => () => hook(former)),
  ]);
  if (isDone) await runEach(deps.log, former, [() => completeCleanup(database, cleanupId(former))]);
}

/** Forgets later what could not be forgotten when a terminal left its vehicle; false where it cannot be now either. */
export async function retryTerminalCleanup(deps: Parts, former: Vehicle, hooks: VehicleHooks): Promise<boolean> {
  const { imei } = former;
  const holder = imei === null ? null : await findVehicleByImei(deps.records, imei);
  // It has not left after all, or is back.
  if (holder?._id === former._id) return true;
  return runEach(deps.log, former, [
    () => (holder === null ? deleteTerminalState(deps, former) : deletePreviousState(deps, former)),
    ...hooks.terminalRemoved.map((hook) => () => hook(former)),
  ]);
}
