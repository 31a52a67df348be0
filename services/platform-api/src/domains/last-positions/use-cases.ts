import { terminalKey } from '@fleet/jt808';
import { AppError } from '@fleet/service-kit';
import { readDevices } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { addressesOf } from '../geocoding/addresses.ts';
import { deriveLiveState, readLiveStates, toCurrentLocation, type VehicleLiveState } from '../vehicles/live-states.ts';
import { normalizeVehicleNo } from '../vehicles/rules.ts';
import { type VisibleVehicle, visibleVehicles } from '../vehicles/visibility.ts';
import type { LocationResponse } from './responses.ts';
import { readLastLocations } from './store.ts';

type LastPositionDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'thresholds'>;
type AddressDeps = Pick<Deps, 'database' | 'limits' | 'log' | 'maps'>;

/** Largest number of names or numbers in a query. */
const maxListed = 500;

/** Returns the current state of terminals that have reported; throws 503 while Redis is unavailable. */
async function reported(
  deps: LastPositionDeps,
  imeis: readonly string[],
  nowMs: number,
): Promise<Map<string, VehicleLiveState>> {
  try {
    const locations = await readLastLocations(deps, imeis);
    const devices = await readDevices(deps.redis, [...locations.keys()]);
    return new Map(
      [...locations].map(([imei, location]) => [
        imei,
        deriveLiveState(devices.get(imei), location, nowMs, deps.thresholds),
      ]),
    );
  } catch (cause) {
    throw new AppError('unavailable', 'Positions are temporarily unavailable. Retry later.', { cause });
  }
}

/**
 * Returns the newest positions of the vehicles that the caller may see, newest first, without terminals that never
 * reported.
 */
export async function latestLocations(
  deps: LastPositionDeps & AddressDeps,
  caller: Caller,
  query: { readonly imei?: string; readonly updated_since?: string; readonly address?: boolean },
  nowMs = Date.now(),
): Promise<LocationResponse[]> {
  const since = parseTimestamp(query.updated_since, 'updated_since')?.getTime() ?? 0;
  const requested = query.imei === undefined ? null : requestedImeis(query.imei);
  const seen = byImei(await visibleVehicles(deps, caller), requested);
  const found = await reported(deps, [...seen.keys()], nowMs);
  const response = [...seen].flatMap(([imei, visible]) => {
    const now = found.get(imei);
    const location = now && toCurrentLocation(now, { id: visible.vehicle._id, driverId: driverOf(visible) });
    return location === null || location === undefined
      ? []
      : [{ ...location, imei: requested?.get(imei) ?? location.imei }];
  });
  const newest = response
    .filter(({ server_timestamp: at }) => at >= since)
    .toSorted((a, b) => b.timestamp - a.timestamp || b.server_timestamp - a.server_timestamp);
  return query.address === true ? withAddresses(deps, caller, newest) : newest;
}

async function withAddresses(
  deps: AddressDeps,
  caller: Caller,
  locations: LocationResponse[],
): Promise<LocationResponse[]> {
  const positions = locations.map(({ latitude, longitude }) => [latitude, longitude] as const);
  const addresses = await addressesOf(deps, caller, positions);
  return locations.map((location, i) => ({ ...location, address: addresses[i] ?? null }));
}

/** Vehicle with the number of its terminal. */
interface VehicleNumber {
  readonly vehicle_id: number;
  readonly vehicle_no: string;
  readonly imei: string | null;
}

/**
 * Returns the terminals of vehicles by vehicle number, ignoring spaces and case. A terminal number has the form that
 * the terminal sends; until the terminal connects, it has the recorded form.
 */
export async function imeisOfVehicles(
  deps: LastPositionDeps & Pick<Deps, 'log'>,
  caller: Caller,
  query: { readonly vehicle_no?: string },
): Promise<VehicleNumber[]> {
  const requested =
    query.vehicle_no === undefined ? null : new Set(listed(query.vehicle_no, 'vehicle_no').map(normalizeVehicleNo));
  const found = (await visibleVehicles(deps, caller))
    .map(({ vehicle }) => vehicle)
    .filter(({ vehicleNo }) => requested === null || requested.has(vehicleNo))
    .toSorted((a, b) => a._id - b._id);
  const states = await readLiveStates(
    deps,
    found.flatMap(({ imei }) => (imei === null ? [] : [imei])),
  );
  return found.map(({ _id, vehicleNo, imei, recordedImei }) => ({
    vehicle_id: _id,
    vehicle_no: vehicleNo,
    imei: (imei === null ? null : states.get(imei)?.displayImei) ?? recordedImei ?? imei,
  }));
}

/** Maps canonical terminal numbers to the form that the caller wrote. */
function requestedImeis(list: string): Map<string, string> {
  return new Map(
    listed(list, 'imei').map((written) => {
      const imei = terminalKey(written);
      if (imei === null) throw badList('imei', `must list terminal numbers; ${JSON.stringify(written)} is not one`);
      return [imei, written];
    }),
  );
}

function listed(list: string, name: string): string[] {
  const parts = list
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  if (parts.length > maxListed) throw badList(name, `must not list more than ${maxListed} values`);
  return parts;
}

const badList = (name: string, message: string): AppError =>
  new AppError('validation_failed', `The query parameter ${name} ${message}.`, {
    details: [{ path: `/${name}`, message }],
  });

function byImei(visible: readonly VisibleVehicle[], requested: ReadonlyMap<string, string> | null) {
  const found = new Map<string, VisibleVehicle>();
  for (const each of visible) {
    const { imei } = each.vehicle;
    if (imei !== null && (requested === null || requested.has(imei))) found.set(imei, each);
  }
  return found;
}

/** Returns the driver of a vehicle; null for a shared vehicle, whose driver the caller may not see. */
const driverOf = ({ vehicle, access }: VisibleVehicle): number | null => (access === 'owner' ? vehicle.driverId : null);
