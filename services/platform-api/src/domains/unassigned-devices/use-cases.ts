import { publish, unassignedDeviceSeen } from '@fleet/bus';
import { terminalKey } from '@fleet/jt808';
import { AppError, type Page, type Pagination, type Sort } from '@fleet/service-kit';
import { readDevices } from '@fleet/storage';
import type { Static } from 'typebox';
import type { Caller } from '../../access/caller.ts';
import { isPermitted, type Role } from '../../access/roles.ts';
import type { Deps } from '../../platform/deps.ts';
import { isSingleAccount } from '../accounts/queries.ts';
import { readLastLocations } from '../last-positions/queries.ts';
import { toLocationResponse } from '../last-positions/responses.ts';
import { deriveState } from '../last-positions/rules.ts';
import { findDevices } from '../vehicles/devices.ts';
import { findVehicleByImei, findVehiclesByImei } from '../vehicles/queries.ts';
import type { UnassignedDetails, UnassignedDevice, unassignedDeviceResponse } from './schema.ts';
import {
  findUnassigned,
  listUnassigned,
  maxUnassigned,
  retainUnassigned,
  retentionMs,
  saveUnassigned,
  trimUnassigned,
} from './store.ts';

export { removeUnassigned } from './store.ts';

type Store = Pick<Deps, 'records' | 'database' | 'redis' | 'config'>;
type ResponseDeps = Store & Pick<Deps, 'thresholds'>;
type UnassignedDeviceResponse = Static<typeof unassignedDeviceResponse>;

/** Texts are cut to this length, because a plate can be of any length. */
const maxTextLength = 64;

/** Records and publishes that a terminal was seen, unless it belongs to a vehicle of any account. */
export async function recordUnassigned(
  { records, bus, log }: Pick<Deps, 'records' | 'bus' | 'log'>,
  imei: string,
  seenMs: number,
  details: { readonly [K in keyof UnassignedDetails]: UnassignedDetails[K] | undefined } = {},
): Promise<void> {
  if ((await findVehicleByImei(records, imei)) !== null) return;
  const bounded = Object.entries(details).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value?.slice(0, maxTextLength) ?? null]],
  );
  const seenAt = new Date(Math.min(seenMs, Date.now()));
  const isSaved = await saveUnassigned(records, imei, seenAt, Object.fromEntries(bounded) as UnassignedDetails);
  if (isSaved) publish(bus, unassignedDeviceSeen, { imei, atMs: seenAt.getTime() });
  else log.warn({ imei, maxUnassigned }, 'too many unassigned terminals, not recording another one');
}

/** Returns whether a role may see the terminals of all accounts: the operator, and administrators of the only account. */
export const mayListUnassigned = async ({ records }: Pick<Deps, 'records'>, role: Role): Promise<boolean> =>
  role === 'superadmin' || (isPermitted(role, 'administration') && (await isSingleAccount(records)));

/**
 * Returns a page of the unassigned terminals. Throws 403 unless the caller is the operator or there is only one
 * account.
 */
export async function listUnassignedDevices(
  deps: ResponseDeps,
  caller: Caller,
  sorting: Sort,
  paging: Pagination,
): Promise<Page<UnassignedDeviceResponse>> {
  if (!(await mayListUnassigned(deps, caller.role)))
    throw new AppError('permission_denied', 'Only the operator can list unassigned terminals.');
  const { items, total } = await listUnassigned(deps.database, sorting, paging);
  return { items: await toResponses(deps, items), total };
}

/**
 * Returns the terminal with exactly this number. Throws 404 if it is unknown or belongs to a vehicle of any account.
 */
export async function lookUpUnassigned(deps: ResponseDeps, number: string): Promise<UnassignedDeviceResponse> {
  const imei = terminalKey(number);
  const device = imei === null ? null : await findUnassigned(deps.database, imei);
  const isFree = device !== null && (await findVehicleByImei(deps.records, device._id)) === null;
  const [response] = isFree ? await toResponses(deps, [device]) : [];
  if (response === undefined)
    throw new AppError('not_found', 'No terminal with this number has connected, or it belongs to a vehicle.');
  return response;
}

async function toResponses(
  deps: ResponseDeps,
  items: readonly UnassignedDevice[],
): Promise<UnassignedDeviceResponse[]> {
  const imeis = items.map(({ _id }) => _id);
  const [sessions, locations, details] = await Promise.all([
    readDevices(deps.redis, imeis),
    readLastLocations(deps, imeis),
    findDevices(deps.database, imeis),
  ]);
  const nowMs = Date.now();
  return items.map((item) => {
    const [session, location, known] = [sessions.get(item._id), locations.get(item._id), details.get(item._id)];
    // An earlier position belongs to the vehicle from which the terminal was removed.
    const own = location !== undefined && location.serverTimestamp >= item.firstSeen.getTime() ? location : null;
    const edition = session?.edition ?? item.edition;
    const lastSeenMs = Math.max(item.lastSeen.getTime(), session?.lastSeenMs ?? 0, own?.serverTimestamp ?? 0);
    return {
      id: item.number,
      imei: session?.phone ?? own?.imei ?? item._id,
      protocol: edition === null ? null : `jt808-${edition}`,
      manufacturer: item.manufacturer ?? known?.manufacturer ?? null,
      model: item.model ?? known?.model ?? null,
      terminal_id: item.terminalId ?? known?.terminalId ?? null,
      plate: item.plate,
      first_seen: item.firstSeen.toISOString(),
      last_seen: new Date(lastSeenMs).toISOString(),
      connected: session !== undefined,
      location:
        own &&
        toLocationResponse(own, { vehicleId: null, driverId: null, state: deriveState(own, nowMs, deps.thresholds) }),
    };
  });
}

/**
 * Removes terminals that now belong to a vehicle or were not seen for 30 days, and the oldest if there are too many.
 */
export async function sweepUnassigned(deps: Store, nowMs = Date.now()): Promise<void> {
  await retainUnassigned(deps.database, async (batch) => {
    const imeis = batch.map(({ _id }) => _id);
    const [vehicles, sessions] = await Promise.all([
      findVehiclesByImei(deps.records, imeis),
      readDevices(deps.redis, imeis),
    ]);
    const isRecent = ({ _id, lastSeen }: UnassignedDevice): boolean =>
      sessions.has(_id) || nowMs - lastSeen.getTime() < retentionMs;
    return new Set(batch.flatMap((device) => (!vehicles.has(device._id) && isRecent(device) ? [device._id] : [])));
  });
  await trimUnassigned(deps.database);
}
