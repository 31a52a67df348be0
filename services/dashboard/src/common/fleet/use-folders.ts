import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSession } from '../session/session-context.ts';
import { type Folder, flattenFolders } from './folder-tree.ts';

const noFolders: readonly Folder[] = [];

/** Returns the query of the tree of groups, and its folders in the order of the list. */
export function useFolders() {
  const { api } = useSession();
  const query = useQuery({
    queryKey: ['listVehicleGroups', 'folderView'],
    queryFn: async () => {
      const { data } = await api.GET('/api/vehicle-groups', { params: { query: { folderView: 'true' } } });
      return (data?.data ?? []) as unknown as readonly Folder[];
    },
  });
  const { data = noFolders } = query;
  return { query, groups: useMemo(() => flattenFolders(data), [data]) };
}
