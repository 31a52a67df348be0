import { fenceSession, gatewayFenceSubject, mediaControl, mediaControlSubject, publish } from '@fleet/bus';
import { cancelStreamRequest, readDevice, readStream, streamKinds } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import { deletePreviousState } from '../vehicle-states/commands.ts';
import type { VehicleHook, VehicleHooks } from './hooks.ts';
import { completeCleanup, findDueCleanups, runAllSteps, scheduleCleanup } from './pending-cleanups.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei, vehicleCollection } from './store.ts';
import { retryTerminalCleanup } from './terminal-cleanup.ts';

type DeletionDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'bus' | 'log'>;

/** JT/T 1078-2016 table 2, which has 37 channels; 0 stands for all channels of some devices. */
const channelNos = Array.from({ length: 38 }, (_unused, channel) => channel);

/** Deletes a vehicle and ends its activities; returns the vehicle as it was, or null. A job retries what fails. */
export async function removeVehicle(
  deps: DeletionDeps,
  known: Vehicle,
  hooks: VehicleHooks,
  expectedVersion?: number,
): Promise<Vehicle | null> {
  const { database } = deps.records;
  await scheduleCleanup(database, known);
  const vehicle = await vehicleCollection(deps.records).remove(known, known._id, { expectedVersion });
  if (vehicle === null) return null;
  if (await cleanUpVehicle(deps, vehicle, hooks.deleted)) await completeCleanup(database, vehicle._id);
  else await scheduleCleanup(database, vehicle);
  return vehicle;
}

/**
 * Ends what could not be ended when vehicles were deleted or terminals left them, or was not ended because the process
 * died.
 */
export async function retryVehicleCleanups(deps: DeletionDeps, hooks: VehicleHooks, now = new Date()): Promise<void> {
  const { records } = deps;
  for (const { _id, vehicle, notedAt } of await findDueCleanups(records.database, now)) {
    const isComplete =
      _id === vehicle._id ? retryVehicleCleanup(deps, vehicle, hooks) : retryTerminalCleanup(deps, vehicle, hooks);
    if (await isComplete) await completeCleanup(records.database, _id);
    else await scheduleCleanup(records.database, vehicle, { _id, notedAt, now });
  }
}

async function retryVehicleCleanup(deps: DeletionDeps, vehicle: Vehicle, hooks: VehicleHooks): Promise<boolean> {
  const { records } = deps;
  if ((await vehicleCollection(records).find(vehicle, vehicle._id)) !== null) return true;
  const holder = vehicle.imei === null ? null : await findVehicleByImei(records, vehicle.imei);
  if (holder === null) return cleanUpVehicle(deps, vehicle, hooks.deleted);
  // The terminal is in another vehicle by now, which its activities belong to.
  const deleteState: VehicleHook = () => deletePreviousState(deps, vehicle);
  return cleanUpVehicle(deps, { ...vehicle, imei: null }, [...hooks.deleted, deleteState]);
}

/** Runs all steps; returns false if one of them failed. */
function cleanUpVehicle(deps: DeletionDeps, vehicle: Vehicle, hooks: readonly VehicleHook[]): Promise<boolean> {
  const { imei } = vehicle;
  const steps = hooks.map((hook) => () => hook(vehicle));
  if (imei !== null)
    steps.push(
      () => stopStreams(deps, imei),
      () => closeSession(deps, imei),
    );
  return runAllSteps(deps.log, vehicle, steps);
}

async function stopStreams({ redis, bus }: DeletionDeps, imei: string): Promise<void> {
  const ids = streamKinds.flatMap((kind) => channelNos.map((channel) => ({ kind, imei, channel })));
  await Promise.all(
    ids.map(async (id) => {
      const { claim, request } = await readStream(redis, id);
      if (request !== null) await cancelStreamRequest(redis, id);
      if (claim !== null) publish(bus, mediaControl, { ...id, change: 'ended' }, mediaControlSubject(claim.podId));
    }),
  );
}

/** Makes the gateway close the connection. If the terminal connects again, it is treated like any unknown one. */
async function closeSession({ redis, bus }: DeletionDeps, imei: string): Promise<void> {
  const session = await readDevice(redis, imei);
  if (session === null) return;
  publish(bus, fenceSession, { imei, sessionId: session.sessionId }, gatewayFenceSubject(session.podId));
}
