import { ApiFailure } from '@fleet/api-client';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { repeatWhenLimited } from '../../../common/data/repeat-when-limited.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';

interface BulkState {
  readonly done: number;
  readonly total: number;
  readonly isRunning: boolean;
  /** Vehicles that failed, with the sentence of the server. */
  readonly failures: readonly string[];
}

/** Runs a request for each chosen vehicle. A failure of one does not prevent the others. */
export function useBulk() {
  const queries = useQueryClient();
  const [state, setState] = useState<BulkState | null>(null);
  const run = async (
    vehicles: readonly Vehicle[],
    request: (vehicle: Vehicle) => Promise<unknown>,
  ): Promise<boolean> => {
    const failures: string[] = [];
    const report = (done: number): void =>
      setState({ done, total: vehicles.length, isRunning: done < vehicles.length, failures: [...failures] });
    report(0);
    for (const [index, vehicle] of vehicles.entries()) {
      try {
        await repeatWhenLimited(
          () => request(vehicle),
          () => undefined,
        );
      } catch (error) {
        failures.push(`${vehicle.vehicle_no}: ${error instanceof ApiFailure ? error.message : String(error)}`);
      }
      report(index + 1);
    }
    await queries.invalidateQueries({ queryKey: ['listVehicles'] });
    await queries.invalidateQueries({ queryKey: ['listVehicleGroups'] });
    return failures.length === 0;
  };
  return { state, run };
}
