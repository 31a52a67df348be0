import type { PlatformClient } from '@fleet/api-client';
import { useQuery } from '@tanstack/react-query';
import { useSession } from '../session/session-context.ts';
import type { Driver, Group, Vehicle } from './vehicle.ts';

const pageSize = 200;

/** Reads all pages of a list. */
export async function readAllPages<Item>(
  readPage: (page: { limit: number; offset: number }) => Promise<readonly Item[] | undefined>,
): Promise<readonly Item[]> {
  const items: Item[] = [];
  for (;;) {
    const page = (await readPage({ limit: pageSize, offset: items.length })) ?? [];
    items.push(...page);
    if (page.length < pageSize) return items;
  }
}

const listAllVehicles = (api: PlatformClient): Promise<readonly Vehicle[]> =>
  readAllPages(async (page) => {
    const query = { ...page, sort: 'id' as const };
    return (await api.GET('/api/vehicles', { params: { query } })).data?.data;
  });

/** Returns the query of all visible vehicles, which pages share. */
export function useVehicles() {
  const { api } = useSession();
  return useQuery({ queryKey: ['listVehicles', 'all'], queryFn: () => listAllVehicles(api) });
}

/** Returns the query of all drivers of the account. */
export function useDrivers() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listDrivers', 'all'],
    queryFn: () =>
      readAllPages<Driver>(async (page) => (await api.GET('/api/drivers', { params: { query: page } })).data?.data),
  });
}

/** Returns the query of all groups of the account. */
export function useGroups() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listVehicleGroups', 'all'],
    queryFn: () =>
      readAllPages<Group>(async (page) => {
        const { data } = await api.GET('/api/vehicle-groups', { params: { query: page } });
        // Without `folderView` the response is a page of groups.
        return data?.data as readonly Group[] | undefined;
      }),
  });
}
