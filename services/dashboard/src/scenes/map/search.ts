import { type VehicleState, vehicleStates } from '../../common/live/protocol.ts';

/** State of the map page in its address. Defaults are left out. */
export interface MapSearch {
  readonly vehicle?: number;
  readonly state?: VehicleState;
  readonly q?: string;
  readonly follow?: true;
}

const maxQueryLength = 100;

/** Returns the valid part of a query string; invalid values are dropped. */
export function parseMapSearch(search: Record<string, unknown>): MapSearch {
  const { vehicle, state, q, follow } = search;
  return {
    ...(Number.isInteger(vehicle) && (vehicle as number) > 0 ? { vehicle: vehicle as number } : {}),
    ...(vehicleStates.includes(state as VehicleState) ? { state: state as VehicleState } : {}),
    ...(typeof q === 'string' || typeof q === 'number' ? readQuery(String(q)) : {}),
    ...(follow === true ? { follow } : {}),
  };
}

const readQuery = (q: string): Pick<MapSearch, 'q'> => (q === '' ? {} : { q: q.slice(0, maxQueryLength) });
