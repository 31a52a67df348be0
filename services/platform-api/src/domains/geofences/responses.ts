import { formatBbox } from '../../geometry/bounds.ts';
import { toPairs } from '../../platform/coordinates.ts';
import { parseAttributes } from '../../platform/fields.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import type { AccountVehicle } from '../vehicles/assignments.ts';
import type { Geofence, GeofenceResponse, SyncState } from './schema.ts';
import { toGeoJsonGeometry } from './shapes.ts';

/** Converts a geofence to a response, with the current state of its vehicles. */
export const toGeofenceResponse = (
  geofence: Geofence,
  {
    vehicles,
    insideCount,
    targets,
  }: {
    readonly vehicles: readonly AccountVehicle[];
    readonly insideCount: number;
    /** Vehicles and groups that the geofence itself names. */
    readonly targets: { readonly vehicles: number[]; readonly groups: number[] };
  },
): GeofenceResponse => ({
  ...toRecordResponse(geofence),
  name: geofence.name,
  type: geofence.type,
  coordinates: toPairs(geofence.points),
  radius_m: geofence.radiusM,
  width_m: geofence.widthM,
  color: geofence.color,
  description: geofence.description,
  notify_on: [...geofence.notifyOn],
  dwell_seconds: geofence.dwellSeconds,
  speed_limit_kmh: geofence.speedLimitKmh,
  schedule: geofence.schedule,
  ...targets,
  push_to_terminal: geofence.pushToTerminal,
  attributes: parseAttributes(geofence.attributes),
  terminal_sync: geofence.pushToTerminal ? toSyncStates(geofence, vehicles) : {},
  area_m2: geofence.areaM2,
  bbox: formatBbox(geofence.bounds),
  geojson: {
    type: 'Feature',
    geometry: toGeoJsonGeometry(geofence),
    properties: {
      id: geofence._id,
      name: geofence.name,
      type: geofence.type,
      ...(geofence.radiusM === null ? {} : { center: toPairs(geofence.points)[0], radius_m: geofence.radiusM }),
      ...(geofence.widthM === null ? {} : { width_m: geofence.widthM }),
    },
  },
  inside_count: insideCount,
});

/** Returns the states by terminal number; a terminal that has not been sent the area yet is pending. */
function toSyncStates({ terminalSync }: Geofence, vehicles: readonly AccountVehicle[]): Record<string, SyncState> {
  const states = vehicles.flatMap(({ imei, recordedImei }): [string, SyncState][] =>
    imei === null ? [] : [[recordedImei ?? imei, terminalSync[imei] ?? 'pending']],
  );
  return Object.fromEntries(states);
}
