import type { Deps } from '../../platform/deps.ts';
import { deletePreviousState, deleteTerminalState } from '../../telemetry/state-store.ts';
import { cancelWaitingCommands } from '../commands/use-cases.ts';
import { completeCleanup, runEach, scheduleCleanup } from './endings.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei } from './store.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

/** Beside the vehicle's own number, as it may be deleted while this goes on. */
const departureId = ({ _id, imei }: Vehicle): string => `${_id}:${imei}`;

/** Notes that the terminal of a vehicle is about to leave it, so that a sweep forgets what `forgetFormer` does not. */
export const noteDeparture = ({ records }: Pick<Parts, 'records'>, former: Vehicle): Promise<void> =>
  scheduleCleanup(records.database, former, { _id: departureId(former) });

/** Whoever has the terminal next, perhaps in another account, is not to see where it was, nor to get what was meant for it here. What fails is left to the sweep. */
export async function forgetFormer(deps: Parts, former: Vehicle): Promise<void> {
  const { database } = deps.records;
  const isDone = await runEach(deps.log, former, [
    () => deleteTerminalState(deps, former),
    () => cancelOfTerminal(deps, former),
  ]);
  if (isDone) await runEach(deps.log, former, [() => completeCleanup(database, departureId(former))]);
}

/** Forgets later what could not be forgotten when a terminal left its vehicle; false where it cannot be now either. */
export async function forgetFormerLater(deps: Parts, former: Vehicle): Promise<boolean> {
  const { imei } = former;
  const holder = imei === null ? null : await findVehicleByImei(deps.records, imei);
  // It has not left after all, or is back.
  if (holder?._id === former._id) return true;
  return runEach(deps.log, former, [
    () => (holder === null ? deleteTerminalState(deps, former) : deletePreviousState(deps, former)),
    () => cancelOfTerminal(deps, former),
  ]);
}

const cancelOfTerminal = ({ records }: Parts, former: Vehicle): Promise<void> =>
  cancelWaitingCommands({ records, database: records.database }, former, former._id, former.imei);
