import type { PlatformClient } from '@fleet/api-client';
import { useQuery } from '@tanstack/react-query';
import { useSession } from '../session/session-context.ts';
import type { Vehicle } from './vehicle.ts';

const pageSize = 200;

/** Reads all visible vehicles, page by page. */
async function listAllVehicles(api: PlatformClient): Promise<readonly Vehicle[]> {
  const vehicles: Vehicle[] = [];
  for (;;) {
    const query = { limit: pageSize, offset: vehicles.length, sort: 'id' as const };
    const { data } = await api.GET('/api/vehicles', { params: { query } });
    const page = data?.data ?? [];
    vehicles.push(...page);
    if (page.length < pageSize) return vehicles;
  }
}

/** Returns the query of all visible vehicles, which pages share. */
export function useVehicles() {
  const { api } = useSession();
  return useQuery({ queryKey: ['listVehicles', 'all'], queryFn: () => listAllVehicles(api) });
}
