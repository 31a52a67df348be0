import type { Vehicle } from './schema.ts';

/** Work of another domain after a change of a vehicle. It may run again after a failure. */
export type VehicleHook = (vehicle: Vehicle) => Promise<void>;

/** What the other domains do when vehicles change; assembly fills it. */
export interface VehicleHooks {
  /** After the vehicle got a terminal. A job repeats what fails. */
  readonly terminalAssigned: readonly VehicleHook[];
  /** After the vehicle was deleted: end its shares, links, commands. */
  readonly deleted: readonly VehicleHook[];
  /** After its terminal was removed or replaced; the vehicle is the one before the change. */
  readonly terminalRemoved: readonly VehicleHook[];
}
