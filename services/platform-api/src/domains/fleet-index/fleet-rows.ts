import type { Deps } from '../../platform/deps.ts';
import { findDriverNames } from '../drivers/queries.ts';
import { findOpenSeverities, type OpenSeverity } from '../notifications/open-severities.ts';
import { neverConnected, readLiveStates, type VehicleLiveState } from '../vehicles/live-states.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type VehicleAccess, type Viewer, visibleVehicleFields } from '../vehicles/visibility.ts';
import { type FleetRow, type fleetColumns, maxFleetRows } from './schema.ts';

export type FleetDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>;

const vehicleFields = [
  'vehicleNo',
  'name',
  'vehicleType',
  'imei',
  'recordedImei',
  'groupIds',
  'driverId',
  'channels',
] as const;

type FleetVehicle = VehicleAccess & {
  readonly vehicle: Pick<Vehicle, (typeof vehicleFields)[number] | '_id' | 'accountId'>;
};

/** What a row shows beside the vehicle itself. */
interface RowParts {
  readonly live: VehicleLiveState;
  readonly driverName: string | null;
  readonly openSeverity: OpenSeverity | null;
}

/** Returns a row for each vehicle that the caller may see, by vehicle id. */
export async function readFleetRows(deps: FleetDeps, caller: Viewer): Promise<Map<number, FleetRow>> {
  const found = (await visibleVehicleFields(deps, caller, vehicleFields))
    .toSorted((a, b) => a.vehicle._id - b.vehicle._id)
    .slice(0, maxFleetRows);
  const imeis = found.flatMap(({ vehicle: { imei } }) => (imei === null ? [] : [imei]));
  const driverIds = found.flatMap(({ access, vehicle: { driverId } }) =>
    access === 'owner' && driverId !== null ? [driverId] : [],
  );
  const [states, driverNames, severities] = await Promise.all([
    readLiveStates(deps, imeis),
    findDriverNames(deps, { accountId: caller.accountId }, [...new Set(driverIds)]),
    findVisibleSeverities(deps, caller, found),
  ]);
  return new Map(
    found.map((each) => {
      const { _id: id, imei, driverId } = each.vehicle;
      const parts: RowParts = {
        live: (imei === null ? undefined : states.get(imei)) ?? neverConnected,
        driverName: driverId === null ? null : (driverNames.get(driverId) ?? null),
        openSeverity: severities.get(id) ?? null,
      };
      return [id, toRow(each, parts)];
    }),
  );
}

/** Returns the severities of the vehicles whose events the caller may see. */
async function findVisibleSeverities(
  { records }: FleetDeps,
  { accountId }: Viewer,
  found: readonly FleetVehicle[],
): Promise<Map<number, OpenSeverity>> {
  const sharedIds = new Map<number, number[]>();
  for (const { access, permissions, vehicle } of found)
    if (access === 'shared' && permissions.includes('notifications'))
      sharedIds.set(vehicle.accountId, [...(sharedIds.get(vehicle.accountId) ?? []), vehicle._id]);
  const ownIds = new Set(found.flatMap(({ access, vehicle }) => (access === 'owner' ? [vehicle._id] : [])));
  const own = [...(await findOpenSeverities(records, { accountId }))].filter(([id]) => ownIds.has(id));
  const shared = await Promise.all(
    [...sharedIds].map(([owner, vehicleIds]) => findOpenSeverities(records, { accountId: owner, vehicleIds })),
  );
  return new Map([...own, ...shared.flatMap((each) => [...each])]);
}

/** Groups and driver belong to the owning account, and are not visible to users of a share. */
function toRow({ vehicle, access, permissions }: FleetVehicle, { live, driverName, openSeverity }: RowParts): FleetRow {
  const isOwn = access === 'owner';
  const { location } = live;
  return Object.values({
    vehicle_id: vehicle._id,
    vehicle_no: vehicle.vehicleNo,
    name: vehicle.name,
    vehicle_type: vehicle.vehicleType,
    imei: live.displayImei ?? vehicle.recordedImei ?? vehicle.imei,
    group_ids: isOwn ? vehicle.groupIds : [],
    driver_id: isOwn ? vehicle.driverId : null,
    driver_name: isOwn ? driverName : null,
    channel_ids: vehicle.channels.filter(({ enabled }) => enabled).map(({ channelId }) => channelId),
    access,
    permissions,
    state: live.state,
    state_since: live.stateSinceMs,
    connected: live.device?.connected ?? false,
    latitude: location?.latitude ?? null,
    longitude: location?.longitude ?? null,
    speed: location?.speed ?? null,
    course: location?.course ?? null,
    ignition: location?.ignition ?? null,
    gps_valid: location?.gpsValid ?? null,
    timestamp: location?.timestamp ?? null,
    open_severity: openSeverity,
  } satisfies Record<(typeof fleetColumns)[number], unknown>);
}
