import type { Vehicle } from '../../common/fleet/vehicle.ts';
import type { LivePosition } from '../../common/live/live-store.ts';
import { type VehicleState, vehicleStates } from '../../common/live/protocol.ts';

/** A row of the list: a vehicle with its newest position. */
export interface VehicleRow {
  readonly id: number;
  readonly name: string;
  readonly vehicleNo: string;
  readonly state: VehicleState;
  readonly position: LivePosition | undefined;
}

type NamedVehicle = Pick<Vehicle, 'id' | 'name' | 'vehicle_no' | 'imei' | 'state' | 'location'>;

/** Joins vehicles with their live positions; before the first batch with those of the list. */
export const toRows = (vehicles: readonly NamedVehicle[], positions: ReadonlyMap<number, LivePosition>): VehicleRow[] =>
  vehicles.map((vehicle) => {
    const position = positions.get(vehicle.id) ?? toPosition(vehicle);
    const state = position?.state ?? vehicle.state;
    return { id: vehicle.id, name: vehicle.name, vehicleNo: vehicle.vehicle_no, state, position };
  });

function toPosition({ location }: Pick<NamedVehicle, 'location'>): LivePosition | undefined {
  if (location === null) return undefined;
  const { latitude, longitude, speed, course, state, timestamp, gps_valid: isValid } = location;
  return { latitude, longitude, speed, course, state, timestamp, isValid };
}

export interface RowFilter {
  readonly state?: VehicleState | undefined;
  /** Part of the number or the name; case and spaces do not matter. */
  readonly query?: string | undefined;
}

const normalize = (text: string): string => text.toLowerCase().replaceAll(/\s/g, '');

/** Returns the rows that match, in the order of their states and then of their numbers. */
export function filterRows(rows: readonly VehicleRow[], { state, query = '' }: RowFilter): VehicleRow[] {
  const wanted = normalize(query);
  return rows
    .filter((row) => state === undefined || row.state === state)
    .filter((row) => wanted === '' || normalize(`${row.vehicleNo} ${row.name}`).includes(wanted))
    .toSorted(
      (a, b) =>
        vehicleStates.indexOf(a.state) - vehicleStates.indexOf(b.state) || a.vehicleNo.localeCompare(b.vehicleNo),
    );
}

/** Returns the number of rows in each state. */
export function countStates(rows: readonly VehicleRow[]): Record<VehicleState, number> {
  const counts = { moving: 0, idle: 0, stopped: 0, offline: 0, never_connected: 0 };
  for (const { state } of rows) counts[state] += 1;
  return counts;
}
