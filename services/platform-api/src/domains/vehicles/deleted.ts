import { fenceSession, gatewayFenceSubject, mediaControl, mediaControlSubject, publish } from '@fleet/bus';
import { cancelStreamRequest, readDevice, readStream, type StreamKind } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { deletePreviousState } from '../vehicle-states/commands.ts';
import { completeCleanup, dueEndings, runEach, scheduleCleanup } from './endings.ts';
import { retryTerminalCleanup } from './former-terminals.ts';
import type { VehicleHook, VehicleHooks } from './hooks.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei, vehiclesIn } from './store.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'bus' | 'log'>;

const kinds: readonly StreamKind[] = ['live', 'history'];
/** JT/T 1078-2016 table 2, which has 37 channels; 0 stands for all channels of some devices. */
const channels = Array.from({ length: 38 }, (_unused, channel) => channel);

/** Deletes a vehicle and ends its activities; returns the vehicle as it was, or null. A job retries what fails. */
export async function removeVehicle(
  deps: Parts,
  known: Vehicle,
  hooks: VehicleHooks,
  expectedVersion?: number,
): Promise<Vehicle | null> {
  const { database } = deps.records;
  await scheduleCleanup(database, known);
  const vehicle = await vehiclesIn(deps.records).remove(known, known._id, { expectedVersion });
  if (vehicle === null) return null;
  if (await endAll(deps, vehicle, hooks.deleted)) await completeCleanup(database, vehicle._id);
  else await scheduleCleanup(database, vehicle);
  return vehicle;
}

/**
 * Ends what could not be ended when vehicles were deleted or terminals left them, or was not ended because the process
 * died.
 */
export async function endDeletedVehicles(deps: Parts, hooks: VehicleHooks, now = new Date()): Promise<void> {
  const { records } = deps;
  for (const { _id, vehicle, notedAt } of await dueEndings(records.database, now)) {
    const isEnded = _id === vehicle._id ? endLater(deps, vehicle, hooks) : retryTerminalCleanup(deps, vehicle, hooks);
    if (await isEnded) await completeCleanup(records.database, _id);
    else await scheduleCleanup(records.database, vehicle, { _id, notedAt, now });
  }
}

async function endLater(deps: Parts, vehicle: Vehicle, hooks: VehicleHooks): Promise<boolean> {
  const { records } = deps;
  if ((await vehiclesIn(records).find(vehicle, vehicle._id)) !== null) return true;
  const holder = vehicle.imei === null ? null : await findVehicleByImei(records, vehicle.imei);
  if (holder === null) return endAll(deps, vehicle, hooks.deleted);
  // The terminal is in another vehicle by now, which its activities belong to.
  const deleteState: VehicleHook = () => deletePreviousState(deps, vehicle);
  return endAll(deps, { ...vehicle, imei: null }, [...hooks.deleted, deleteState]);
}

/** Runs all steps; returns false if one of them failed. */
function endAll(deps: Parts, vehicle: Vehicle, hooks: readonly VehicleHook[]): Promise<boolean> {
  const { imei } = vehicle;
  const steps = hooks.map((hook) => () => hook(vehicle));
  if (imei !== null)
    steps.push(
      () => endStreams(deps, imei),
      () => endSession(deps, imei),
    );
  return runEach(deps.log, vehicle, steps);
}

async function endStreams({ redis, bus }: Parts, imei: string): Promise<void> {
  const ids = kinds.flatMap((kind) => channels.map((channel) => ({ kind, imei, channel })));
  await Promise.all(
    ids.map(async (id) => {
      const { claim, request } = await readStream(redis, id);
      if (request !== null) await cancelStreamRequest(redis, id);
      if (claim !== null) publish(bus, mediaControl, { ...id, change: 'ended' }, mediaControlSubject(claim.podId));
    }),
  );
}

/** Makes the gateway close the connection. If the terminal connects again, it is treated like any unknown one. */
async function endSession({ redis, bus }: Parts, imei: string): Promise<void> {
  const session = await readDevice(redis, imei);
  if (session === null) return;
  publish(bus, fenceSession, { imei, sessionId: session.sessionId }, gatewayFenceSubject(session.podId));
}
