import { AppError, assertVersion } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound } from '../../platform/fields.ts';
import type { Change, Scope } from '../../store/account-repository.ts';
import { getAccount } from '../accounts/use-cases.ts';
import { audit } from '../audit/use-cases.ts';
import { filterOwnDriverIds } from '../drivers/queries.ts';
import { odometerOf } from '../positions/odometer.ts';
import { travelledKm } from '../positions/travelled.ts';
import { removeUnassigned } from '../unassigned-devices/use-cases.ts';
import { findUser, firstOwner } from '../users/use-cases.ts';
import { ownGroupIds } from '../vehicle-groups/queries.ts';
import { assignVehicles, leaveGroup } from './assignments.ts';
import { withChannels } from './channels.ts';
import type { VehicleHooks } from './hooks.ts';
import { runAllSteps } from './pending-cleanups.ts';
import { normalizeVehicleNo, toVehicleChange, vehicleDefaults } from './rules.ts';
import type { Vehicle, VehicleBody, VehicleResponse } from './schema.ts';
import { vehicleCollection } from './store.ts';
import { cleanUpTerminal, scheduleTerminalCleanup } from './terminal-cleanup.ts';
import { toCurrentResponse } from './use-cases.ts';
import { removeVehicle } from './vehicle-deletion.ts';
import { accessTo, assertOwnVehicle, vehicleNotFound, visibleVehicle } from './visibility.ts';

/** Dependencies of the functions that change vehicles. */
export type ChangeDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'commandClient' | 'bus' | 'thresholds'>;

type NewVehicleBody = VehicleBody & { readonly vehicle_no: string };

const toOwnResponse = (deps: ChangeDeps, caller: Caller, vehicle: Vehicle): Promise<VehicleResponse> =>
  toCurrentResponse(deps, { vehicle, ...accessTo(vehicle, caller, undefined) });

/**
 * Returns one vehicle that the caller may see, with its cameras. They are requested from the terminal if none are
 * recorded.
 */
export async function readVehicle(
  deps: ChangeDeps,
  caller: Caller,
  id: number,
  requestId: string,
): Promise<VehicleResponse> {
  const visible = await visibleVehicle(deps, caller, id);
  return toCurrentResponse(deps, { ...visible, vehicle: await withChannels(deps, visible.vehicle, requestId) });
}

export async function createVehicle(
  deps: ChangeDeps,
  caller: Caller,
  body: NewVehicleBody,
  hooks: VehicleHooks,
  requestId: string,
): Promise<VehicleResponse> {
  const vehicle = await insertVehicle(deps, caller, body, hooks);
  return withNumberAsSent(await toOwnResponse(deps, caller, await withChannels(deps, vehicle, requestId)), body);
}

/** Stores a new vehicle and claims its terminal. */
export async function insertVehicle(
  deps: ChangeDeps,
  caller: Caller,
  body: NewVehicleBody,
  hooks: VehicleHooks,
): Promise<Vehicle> {
  const vehicleNo = normalizeVehicleNo(body.vehicle_no);
  const accountTimezone = await findAccountTimezone(deps, caller);
  const change = toVehicleChange(body, { vehicleNo, accountTimezone });
  await assertLinksExist(deps, caller, change);
  const created = await vehicleCollection(deps.records).insert(caller, {
    ...vehicleDefaults,
    name: vehicleNo,
    timezone: accountTimezone,
    ...change,
    vehicleNo,
    ownerUserId: await findOwnerFor(deps, caller),
  });
  await claimTerminal(deps, created, hooks);
  const vehicle = await withoutDeletedLinks(deps, created, change);
  await audit(
    deps,
    caller,
    'vehicles.create',
    { type: 'vehicles', id: vehicle._id },
    { vehicleNo, imei: vehicle.imei },
  );
  return vehicle;
}

/** Removes the new terminal of a vehicle from the list of unassigned devices, and runs what follows its assignment. */
async function claimTerminal({ records, log }: ChangeDeps, vehicle: Vehicle, hooks: VehicleHooks): Promise<void> {
  const { imei } = vehicle;
  if (imei === null) return;
  await removeUnassigned(records.database, [imei]);
  await runAllSteps(
    log,
    vehicle,
    hooks.terminalAssigned.map((hook) => () => hook(vehicle)),
  );
}

/**
 * Returns the owning user of a new vehicle: the caller, or the first owner of the account if the caller is staff that
 * acts in it.
 */
async function findOwnerFor({ records }: ChangeDeps, caller: Caller): Promise<number> {
  if ((await findUser(records, caller, caller.userId)) !== null) return caller.userId;
  return (await firstOwner(records, caller))?._id ?? caller.userId;
}

export async function updateVehicle(
  deps: ChangeDeps,
  caller: Caller,
  id: number,
  body: VehicleBody,
  hooks: VehicleHooks,
  expectedVersion: number | undefined,
): Promise<VehicleResponse> {
  const vehicle = await changeVehicle(deps, caller, { id, body, hooks, expectedVersion });
  return withNumberAsSent(await toOwnResponse(deps, caller, vehicle), body);
}

interface VehicleUpdate {
  readonly id: number;
  readonly body: VehicleBody;
  readonly hooks: VehicleHooks;
  readonly expectedVersion: number | undefined;
}

/** Stores the changes of a vehicle; a terminal that leaves it is cleaned up. */
export async function changeVehicle(
  deps: ChangeDeps,
  caller: Caller,
  { id, body, hooks, expectedVersion }: VehicleUpdate,
): Promise<Vehicle> {
  const known = await assertOwnVehicle(deps, caller, id);
  assertVersion(known, expectedVersion);
  const accountTimezone = body.timezone === null ? await findAccountTimezone(deps, caller) : known.timezone;
  const fields = toVehicleChange(body, { vehicleNo: known.vehicleNo, accountTimezone });
  await assertLinksExist(deps, caller, fields, known);
  const change = { ...fields, ...(await toOdometerChange(deps, known, fields)) };
  const leavesTerminal = known.imei !== null && change.imei !== undefined && change.imei !== known.imei;
  // Recorded before the change, because the process may die right after it.
  if (leavesTerminal) await scheduleTerminalCleanup(deps, known);
  const vehicle = await vehicleCollection(deps.records).update(caller, id, change, expectedVersion);
  if (vehicle === null) throw vehicleNotFound(id);
  if (leavesTerminal) await cleanUpTerminal(deps, known, hooks);
  if (vehicle.imei !== known.imei) await claimTerminal(deps, vehicle, hooks);
  await audit(deps, caller, 'vehicles.update', { type: 'vehicles', id }, { fields: Object.keys(body) });
  return withoutDeletedLinks(deps, vehicle, change);
}

/** Sets the user whose webhooks and preferences apply to the vehicle. The user must belong to the same account. */
export async function changeOwner(
  deps: ChangeDeps,
  caller: Caller,
  id: number,
  ownerUserId: number,
  expectedVersion: number | undefined,
): Promise<VehicleResponse> {
  await assertOwnVehicle(deps, caller, id);
  const owner = await findUser(deps.records, caller, ownerUserId);
  if (owner === null) throw new AppError('user_not_found', `There is no user ${ownerUserId}.`);
  const vehicle = await vehicleCollection(deps.records).update(caller, id, { ownerUserId }, expectedVersion);
  if (vehicle === null) throw vehicleNotFound(id);
  await audit(deps, caller, 'vehicles.owner', { type: 'vehicles', id }, { ownerUserId });
  return toOwnResponse(deps, caller, vehicle);
}

/** Deletes a vehicle and ends its activities; history stays. Returns the vehicle as it was. */
export async function deleteVehicle(
  deps: ChangeDeps,
  caller: Caller,
  id: number,
  hooks: VehicleHooks,
  expectedVersion: number | undefined,
): Promise<VehicleResponse> {
  const known = await assertOwnVehicle(deps, caller, id);
  assertVersion(known, expectedVersion);
  const response = await toOwnResponse(deps, caller, known);
  const vehicle = await removeVehicle(deps, known, hooks, expectedVersion);
  if (vehicle === null) throw vehicleNotFound(id);
  await audit(deps, caller, 'vehicles.delete', { type: 'vehicles', id }, { vehicleNo: vehicle.vehicleNo });
  return response;
}

/** Deletes all vehicles of a deleted account, which frees their terminals. */
export async function deleteAllVehicles(
  deps: Pick<Deps, 'records' | 'redis' | 'config' | 'bus' | 'log'>,
  scope: Scope,
  hooks: VehicleHooks,
): Promise<void> {
  for (const vehicle of await vehicleCollection(deps.records).all(scope)) await removeVehicle(deps, vehicle, hooks);
}

/**
 * Returns the change of the odometer. It continues from the value that the user sets, or from the current value if the
 * terminal changes.
 */
async function toOdometerChange(deps: ChangeDeps, known: Vehicle, change: Change<Vehicle>): Promise<Change<Vehicle>> {
  const { imei = known.imei, odometerKm } = change;
  if (odometerKm === undefined && imei === known.imei) return {};
  const travelled = (await travelledKm(deps, [known])).get(known._id) ?? 0;
  const continued = { odometerKm: odometerKm ?? odometerOf(known, travelled) };
  return imei === known.imei
    ? { ...continued, odometerTravelledKm: travelled }
    : { ...continued, odometerTravelledKm: 0, terminalSinceMs: Date.now() };
}

/** Returns the response with the terminal number as the caller wrote it. */
const withNumberAsSent = (response: VehicleResponse, { imei }: VehicleBody): VehicleResponse =>
  imei === undefined || imei === null ? response : { ...response, imei };

const findAccountTimezone = async ({ records }: ChangeDeps, caller: Caller): Promise<string> =>
  (await getAccount(records, caller.accountId))?.timezone ?? vehicleDefaults.timezone;

/** Throws 404 unless driver and groups belong to the account. Records of existing links may have been deleted since. */
async function assertLinksExist(
  deps: ChangeDeps,
  caller: Caller,
  { driverId, groupIds = [] }: Change<Vehicle>,
  known: Pick<Vehicle, 'driverId' | 'groupIds'> = { driverId: null, groupIds: [] },
): Promise<void> {
  if (driverId !== undefined && driverId !== null && driverId !== known.driverId)
    assertAllFound('driver', [driverId], await filterOwnDriverIds(deps, caller, [driverId]));
  const newGroups = groupIds.filter((id) => !known.groupIds.includes(id));
  assertAllFound('group', newGroups, await ownGroupIds(deps, caller, newGroups));
}

/**
 * Removes drivers and groups from a vehicle that were deleted before it was written, because their deletion did not
 * cover this vehicle.
 */
async function withoutDeletedLinks(
  deps: ChangeDeps,
  vehicle: Vehicle,
  { driverId, groupIds = [] }: Change<Vehicle>,
): Promise<Vehicle> {
  const drivers = typeof driverId === 'number' ? [driverId] : [];
  const [existingDrivers, existingGroups] = [
    await filterOwnDriverIds(deps, vehicle, drivers),
    await ownGroupIds(deps, vehicle, groupIds),
  ];
  const deletedDrivers = drivers.filter((id) => !existingDrivers.includes(id));
  const deletedGroups = groupIds.filter((id) => !existingGroups.includes(id));
  for (const id of deletedDrivers) await assignVehicles(deps, vehicle, id, []);
  for (const id of deletedGroups) await leaveGroup(deps, vehicle, id);
  const areAllLinksValid = deletedDrivers.length + deletedGroups.length === 0;
  return areAllLinksValid ? vehicle : ((await vehicleCollection(deps.records).find(vehicle, vehicle._id)) ?? vehicle);
}
