import { ApiFailure } from '@fleet/api-client';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { storeRecord } from '../../../common/data/store-record.ts';
import type { Vehicle } from '../../../common/fleet/vehicle.ts';
import { useSession } from '../../../common/session/session-context.ts';

interface Change {
  readonly body: Readonly<Record<string, unknown>>;
  /** The version that the form loaded. */
  readonly version: number;
}

/** Saves changes of a vehicle. `stored` is the record as somebody else changed it, after a save met another version. */
export function useSaveVehicle(vehicleId: number, onSaved: (vehicle: Vehicle) => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  const [stored, setStored] = useState<Vehicle | null>(null);
  const path = { vehicleId };
  const save = useMutation({
    mutationFn: async ({ body, version }: Change) => {
      const header = { 'If-Match': `"${version}"` };
      return (await api.PUT('/api/vehicles/{vehicleId}', { params: { path, header }, body })).data?.data;
    },
    onSuccess: async (vehicle) => {
      setStored(null);
      if (vehicle !== undefined) {
        await storeRecord(queries, ['getVehicle', vehicleId], vehicle);
        onSaved(vehicle);
      }
      await queries.invalidateQueries({ queryKey: ['listVehicles'] });
    },
    onError: async (error) => {
      if (!(error instanceof ApiFailure) || error.status !== 412) return;
      const { data } = await api.GET('/api/vehicles/{vehicleId}', { params: { path } });
      setStored(data?.data ?? null);
    },
  });
  return { save, stored, discard: () => setStored(null) };
}
