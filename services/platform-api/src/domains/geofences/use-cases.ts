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
import { findLastLocations } from '../last-positions/queries.ts';
import { dropGeofenceFromGroups, ownGroupIds } from '../vehicle-groups/queries.ts';
import { ownVehicleIds } from '../vehicles/assignments.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';
import { toGeofenceResponse } from './responses.ts';
import { assertDwellTime, changesShape, geofenceDefaults, maxGeofences, mergeShape, toDetails } from './rules.ts';
import type { Geofence, GeofenceBody, GeofenceResponse, ListGeofencesQuery } from './schema.ts';
import { createContainsCheck } from './shapes.ts';
import { geofenceCollection } from './store.ts';
import { visibilityFilter, visibleAssignments, visibleOwnVehicleIds } from './visibility.ts';

type GeofenceDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log'>;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', updated_at: 'updatedAt' };

/** Returns a page of the geofences that the caller may see. */
export async function listGeofences(
  deps: GeofenceDeps,
  caller: Caller,
  query: ListGeofencesQuery,
  paging: Pagination,
): Promise<Page<GeofenceResponse>> {
  const assignments = await visibleAssignments(deps, caller);
  const { field, direction } = parseSort(query.sort);
  const { items, total } = await geofenceCollection(deps.records).list(caller, {
    where: {
      $and: [await visibilityFilter(deps, caller, assignments), ...(await toFilters(deps, caller, query, assignments))],
    },
    sorting: { field: sortFields[field] ?? field, direction },
    paging,
  });
  return { items: await toGeofenceResponses(deps, items, assignments), total };
}

async function toFilters(
  deps: GeofenceDeps,
  caller: Caller,
  query: ListGeofencesQuery,
  assignments: GeofenceAssignments,
): Promise<Filter[]> {
  const filters = [substringFilter(query.query, ['name', 'description'])];
  if (query.type !== undefined) filters.push({ type: query.type });
  if (query.vehicle_id !== undefined)
    filters.push(assignments.filterFor(await visibleOwnVehicleIds(deps, caller, [query.vehicle_id])));
  if (query.bbox !== undefined) filters.push(overlapping(parseBboxParameter(query.bbox)));
  return filters;
}

/** Returns a filter for areas whose bounds overlap a rectangle; both may cross the date line. */
const overlapping = ({ minLat, minLng, maxLat, maxLng }: Bounds): Filter => ({
  'bounds.minLat': { $lte: maxLat },
  'bounds.maxLat': { $gte: minLat },
  $or: [-360, 0, 360].map((turn) => ({
    'bounds.minLng': { $lte: maxLng + turn },
    'bounds.maxLng': { $gte: minLng + turn },
  })),
});

/** Returns one geofence that the caller may see, or null. */
export async function readGeofence(deps: GeofenceDeps, caller: Caller, id: number): Promise<GeofenceResponse | null> {
  const assignments = await visibleAssignments(deps, caller);
  const where = { $and: [{ _id: id }, await visibilityFilter(deps, caller, assignments)] };
  const geofence = await geofenceCollection(deps.records).findOne(caller, where);
  return geofence === null ? null : toCurrentResponse(deps, geofence, assignments);
}

export async function createGeofence(
  deps: GeofenceDeps & Pick<Deps, 'database'>,
  caller: Caller,
  body: GeofenceBody & { name: string },
): Promise<GeofenceResponse> {
  const fields = { ...geofenceDefaults, ...toDetails(body), ...mergeShape(body), name: body.name };
  assertDwellTime(fields);
  await assertLinksExist(deps, caller, fields);
  const geofences = geofenceCollection(deps.records);
  const created = await insertWithinQuota(
    deps.database,
    {
      name: `geofences of account ${caller.accountId}`,
      limit: maxGeofences,
      message: `Geofence limit reached. An account may have ${maxGeofences} geofences.`,
    },
    () => geofences.count(caller),
    () => geofences.insert(caller, fields),
  );
  await audit(deps, caller, 'geofences.create', { type: 'geofences', id: created._id }, { name: created.name });
  return toCurrentResponse(deps, created);
}

/** Updates a geofence; returns null if it does not exist. */
export const updateGeofence = (
  deps: GeofenceDeps,
  caller: Caller,
  id: number,
  body: GeofenceBody,
  expectedVersion: number | undefined,
): Promise<GeofenceResponse | null> =>
  updateWithVersion(expectedVersion, async () => {
    const geofences = geofenceCollection(deps.records);
    const known = await geofences.find(caller, id);
    if (known === null) return null;
    const change = await validateChange(deps, caller, body, known);
    // Fields that were validated together are written only to the version that was read.
    const version = expectedVersion ?? (isValidatedTogether(body) ? known.version : undefined);
    const geofence = await geofences.update(caller, id, change, version);
    if (geofence === null) return null;
    await audit(deps, caller, 'geofences.update', { type: 'geofences', id }, { fields: Object.keys(body) });
    return toCurrentResponse(deps, geofence);
  });

const isValidatedTogether = (body: GeofenceBody): boolean =>
  changesShape(body) || body.notify_on !== undefined || body.dwell_seconds !== undefined;

async function validateChange(
  deps: GeofenceDeps,
  caller: Caller,
  body: GeofenceBody,
  known: Geofence,
): Promise<Change<Geofence>> {
  const details = toDetails(body);
  assertDwellTime({ ...known, ...details });
  await assertLinksExist(deps, caller, details, known);
  if (!changesShape(body)) return affectsTerminals(body) ? { ...details, terminalSync: {} } : details;
  // The terminals still have the previous area.
  return { ...details, ...mergeShape(body, known), terminalSync: {} };
}

/** Returns true if a body changes a field, other than the shape, that is sent to terminals. */
const affectsTerminals = (body: GeofenceBody): boolean =>
  [body.name, body.notify_on, body.speed_limit_kmh, body.schedule, body.push_to_terminal].some(
    (field) => field !== undefined,
  );

/**
 * Throws 404 unless all new links are to the account's own vehicles and groups. Records of existing links may have been
 * deleted since.
 */
async function assertLinksExist(
  deps: GeofenceDeps,
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
  deps: GeofenceDeps,
  caller: Caller,
  id: number,
  expectedVersion: number | undefined,
): Promise<GeofenceResponse | null> {
  const geofences = geofenceCollection(deps.records);
  const known = await geofences.find(caller, id);
  if (known === null) return null;
  const response = await toCurrentResponse(deps, known);
  if ((await geofences.remove(caller, id, { expectedVersion })) === null) return null;
  await dropGeofenceFromGroups(deps, caller, id);
  await audit(deps, caller, 'geofences.delete', { type: 'geofences', id });
  return response;
}

async function toCurrentResponse(
  deps: GeofenceDeps,
  geofence: Geofence,
  assignments?: GeofenceAssignments,
): Promise<GeofenceResponse> {
  const known = assignments ?? (await GeofenceAssignments.read(deps, geofence));
  return (await toGeofenceResponses(deps, [geofence], known))[0] as GeofenceResponse;
}

async function toGeofenceResponses(
  deps: GeofenceDeps,
  geofences: readonly Geofence[],
  assignments: GeofenceAssignments,
): Promise<GeofenceResponse[]> {
  const imeis = assignments.vehicles.flatMap(({ imei }) => (imei === null ? [] : [imei]));
  const locations = await findLastLocations(deps, geofences.length === 0 ? [] : imeis);
  const response: GeofenceResponse[] = [];
  for (const geofence of geofences) {
    const vehicles = assignments.vehiclesOf(geofence);
    const isIn = createContainsCheck(geofence);
    const inside = vehicles.filter(({ imei }) => {
      const location = imei === null ? undefined : locations.get(imei);
      return location?.gpsValid === true && isIn([location.latitude, location.longitude]);
    });
    response.push(
      toGeofenceResponse(geofence, {
        vehicles,
        insideCount: inside.length,
        targets: assignments.visibleTargets(geofence),
      }),
    );
    // Each geofence checks every vehicle of the account, so other work gets a chance to run.
    await otherWork();
  }
  return response;
}
