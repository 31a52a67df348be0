import { setImmediate as otherWork } from 'node:timers/promises';
import { type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Bounds } from '../../geometry/bounds.ts';
import { parseBboxParameter } from '../../platform/coordinates.ts';
import type { Deps } from '../../platform/deps.ts';
import { assertAllFound } from '../../platform/fields.ts';
import { type Change, type Filter, substringFilter } from '../../store/account-repository.ts';
import { updateWithVersion } from '../../store/optimistic-retry.ts';
import { insertWithinQuota } from '../../store/quota.ts';
import { audit } from '../audit/use-cases.ts';
import { lastLocationsIfKnown } from '../last-positions/queries.ts';
import { dropGeofenceFromGroups, ownGroupIds } from '../vehicle-groups/links.ts';
import { ownVehicleIds } from '../vehicles/assignments.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';
import { toGeofenceResponse } from './responses.ts';
import { checkDwell, detailsOf, geofenceDefaults, isOfShape, maxGeofences, shapeAfter } from './rules.ts';
import type { Geofence, GeofenceBody, GeofenceResponse, ListGeofencesQuery } from './schema.ts';
import { containing } from './shapes.ts';
import { geofencesIn } from './store.ts';
import { holdersSeen, ownIds, visiblePart } from './visibility.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', updated_at: 'updatedAt' };

/** Returns a page of the geofences that the caller may see. */
export async function listGeofences(
  deps: Parts,
  caller: Caller,
  query: ListGeofencesQuery,
  paging: Pagination,
): Promise<Page<GeofenceResponse>> {
  const holders = await holdersSeen(deps, caller);
  const { field, direction } = parseSort(query.sort);
  const { items, total } = await geofencesIn(deps.records).list(caller, {
    where: { $and: [await visiblePart(deps, caller, holders), ...(await filtersOf(deps, caller, query, holders))] },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
  return { items: await toGeofencesResponse(deps, items, holders), total };
}

async function filtersOf(
  deps: Parts,
  caller: Caller,
  query: ListGeofencesQuery,
  holders: GeofenceAssignments,
): Promise<Filter[]> {
  const filters = [substringFilter(query.query, ['name', 'description'])];
  if (query.type !== undefined) filters.push({ type: query.type });
  if (query.vehicle_id !== undefined) filters.push(holders.where(await ownIds(deps, caller, [query.vehicle_id])));
  if (query.bbox !== undefined) filters.push(touching(parseBboxParameter(query.bbox)));
  return filters;
}

/** Returns a filter for areas whose bounds overlap a rectangle; both may cross the date line. */
const touching = ({ minLat, minLng, maxLat, maxLng }: Bounds): Filter => ({
  'bounds.minLat': { $lte: maxLat },
  'bounds.maxLat': { $gte: minLat },
  $or: [-360, 0, 360].map((turn) => ({
    'bounds.minLng': { $lte: maxLng + turn },
    'bounds.maxLng': { $gte: minLng + turn },
  })),
});

/** Returns one geofence that the caller may see, or null. */
export async function readGeofence(deps: Parts, caller: Caller, id: number): Promise<GeofenceResponse | null> {
  const holders = await holdersSeen(deps, caller);
  const where = { $and: [{ _id: id }, await visiblePart(deps, caller, holders)] };
  const geofence = await geofencesIn(deps.records).findOne(caller, where);
  return geofence === null ? null : shownOne(deps, geofence, holders);
}

export async function createGeofence(
  deps: Parts & Pick<Deps, 'database'>,
  caller: Caller,
  body: GeofenceBody & { name: string },
): Promise<GeofenceResponse> {
  const fields = { ...geofenceDefaults, ...detailsOf(body), ...shapeAfter(body), name: body.name };
  checkDwell(fields);
  await checkLinks(deps, caller, fields);
  const geofences = geofencesIn(deps.records);
  const made = await insertWithinQuota(
    deps.database,
    {
      name: `geofences of account ${caller.accountId}`,
      limit: maxGeofences,
      message: `Geofence limit reached. An account may have ${maxGeofences} geofences.`,
    },
    () => geofences.count(caller),
    () => geofences.insert(caller, fields),
  );
  await audit(deps, caller, 'geofences.create', { type: 'geofences', id: made._id }, { name: made.name });
  return shownOne(deps, made);
}

/** Updates a geofence; returns null if it does not exist. */
export const updateGeofence = (
  deps: Parts,
  caller: Caller,
  id: number,
  body: GeofenceBody,
  expectedVersion: number | undefined,
): Promise<GeofenceResponse | null> =>
  updateWithVersion(expectedVersion, async () => {
    const geofences = geofencesIn(deps.records);
    const known = await geofences.find(caller, id);
    if (known === null) return null;
    const change = await checkedChange(deps, caller, body, known);
    // Fields that were validated together are written only to the version that was read.
    const version = expectedVersion ?? (isCheckedWhole(body) ? known.version : undefined);
    const geofence = await geofences.update(caller, id, change, version);
    if (geofence === null) return null;
    await audit(deps, caller, 'geofences.update', { type: 'geofences', id }, { fields: Object.keys(body) });
    return shownOne(deps, geofence);
  });

const isCheckedWhole = (body: GeofenceBody): boolean =>
  isOfShape(body) || body.notify_on !== undefined || body.dwell_seconds !== undefined;

async function checkedChange(
  deps: Parts,
  caller: Caller,
  body: GeofenceBody,
  known: Geofence,
): Promise<Change<Geofence>> {
  const details = detailsOf(body);
  checkDwell({ ...known, ...details });
  await checkLinks(deps, caller, details, known);
  if (!isOfShape(body)) return isInTerminals(body) ? { ...details, terminalSync: {} } : details;
  // The terminals still have the previous area.
  return { ...details, ...shapeAfter(body, known), terminalSync: {} };
}

/** Returns true if a body changes a field, other than the shape, that is sent to terminals. */
const isInTerminals = (body: GeofenceBody): boolean =>
  [body.name, body.notify_on, body.speed_limit_kmh, body.schedule, body.push_to_terminal].some(
    (field) => field !== undefined,
  );

/**
 * Throws 404 unless all new links are to the account's own vehicles and groups. Records of existing links may have been
 * deleted since.
 */
async function checkLinks(
  deps: Parts,
  caller: Caller,
  { vehicles = [], groups = [] }: Partial<Pick<Geofence, 'vehicles' | 'groups'>>,
  known: Pick<Geofence, 'vehicles' | 'groups'> = { vehicles: [], groups: [] },
): Promise<void> {
  const newVehicles = vehicles.filter((id) => !known.vehicles.includes(id));
  const newGroups = groups.filter((id) => !known.groups.includes(id));
  if (newVehicles.length > 0) assertAllFound('vehicle', newVehicles, await ownVehicleIds(deps, caller, newVehicles));
  if (newGroups.length > 0) assertAllFound('group', newGroups, await ownGroupIds(deps, caller, newGroups));
}

/** Deletes a geofence and removes it from groups; returns the geofence as it was, or null. */
export async function deleteGeofence(
  deps: Parts,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<GeofenceResponse | null> {
  const geofences = geofencesIn(deps.records);
  const known = await geofences.find(caller, id);
  if (known === null) return null;
  const response = await shownOne(deps, known);
  if ((await geofences.remove(caller, id, { expectedVersion })) === null) return null;
  await dropGeofenceFromGroups(deps, caller, id);
  await audit(deps, caller, 'geofences.delete', { type: 'geofences', id });
  return response;
}

async function shownOne(deps: Parts, geofence: Geofence, holders?: GeofenceAssignments): Promise<GeofenceResponse> {
  const known = holders ?? (await GeofenceAssignments.read(deps, geofence));
  return (await toGeofencesResponse(deps, [geofence], known))[0] as GeofenceResponse;
}

async function toGeofencesResponse(
  deps: Parts,
  geofences: readonly Geofence[],
  holders: GeofenceAssignments,
): Promise<GeofenceResponse[]> {
  const imeis = holders.vehicles.flatMap(({ imei }) => (imei === null ? [] : [imei]));
  const locations = await lastLocationsIfKnown(deps, geofences.length === 0 ? [] : imeis);
  const response: GeofenceResponse[] = [];
  for (const geofence of geofences) {
    const vehicles = holders.of(geofence);
    const isIn = containing(geofence);
    const inside = vehicles.filter(({ imei }) => {
      const location = imei === null ? undefined : locations.get(imei);
      return location?.gpsValid === true && isIn([location.latitude, location.longitude]);
    });
    response.push(
      toGeofenceResponse(geofence, { vehicles, insideCount: inside.length, named: holders.named(geofence) }),
    );
    // Each geofence checks every vehicle of the account, so other work gets a chance to run.
    await otherWork();
  }
  return response;
}
