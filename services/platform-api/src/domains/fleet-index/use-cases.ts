import { parseTimestamp } from '../../platform/timestamps.ts';
import type { Viewer } from '../vehicles/visibility.ts';
import { type FleetDeps, readFleetRows } from './fleet-rows.ts';
import { type FleetVersions, nextVersions, readVersions, storeVersions } from './row-versions.ts';
import { type FleetResponse, type FleetRow, fleetColumns } from './schema.ts';

/**
 * Returns the vehicles that the caller may see as rows. With `updated_since` only those that changed since then, and
 * the ids of those that became invisible; all rows if these changes are not known.
 */
export async function readFleet(
  deps: FleetDeps,
  caller: Viewer,
  query: { readonly updated_since?: string },
): Promise<FleetResponse> {
  const updatedSinceMs = parseTimestamp(query.updated_since, 'updated_since')?.getTime();
  // Changes during the read belong to the next response.
  const nowMs = Date.now();
  const rows = await readFleetRows(deps, caller);
  const versions = await updateVersions(deps, caller, rows, nowMs);
  const isKnown = updatedSinceMs !== undefined && versions !== null && versions.sinceMs <= updatedSinceMs;
  const changes = isKnown ? changesSince(versions, rows, updatedSinceMs) : { rows: [...rows.values()], removed: [] };
  return {
    columns: [...fleetColumns],
    rows: changes.rows as FleetResponse['rows'],
    removed: changes.removed,
    complete: !isKnown,
    generated_at: new Date(nowMs).toISOString(),
  };
}

/** Returns the versions of the rows; null while Redis is unavailable. */
async function updateVersions(
  { redis, log }: FleetDeps,
  caller: Viewer,
  rows: ReadonlyMap<number, FleetRow>,
  nowMs: number,
): Promise<FleetVersions | null> {
  try {
    const versions = nextVersions(await readVersions(redis, caller), rows, nowMs);
    await storeVersions(redis, caller, versions);
    return versions;
  } catch (error) {
    log.warn({ err: error }, 'could not read the versions of fleet rows');
    return null;
  }
}

function changesSince(versions: FleetVersions, rows: ReadonlyMap<number, FleetRow>, sinceMs: number) {
  const changedIds = [...versions.rows].filter(([, { changedAtMs }]) => changedAtMs > sinceMs).map(([id]) => id);
  return {
    rows: changedIds.flatMap((id) => {
      const row = rows.get(id);
      return row === undefined ? [] : [row];
    }),
    removed: changedIds.filter((id) => !rows.has(id)),
  };
}
