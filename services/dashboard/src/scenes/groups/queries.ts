import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { storeRecord } from '../../common/data/store-record.ts';
import type { Group } from '../../common/fleet/vehicle.ts';
import { useSendOnce } from '../../common/forms/use-send-once.ts';
import { useVersionedSave } from '../../common/forms/use-versioned-save.ts';
import { useSession } from '../../common/session/session-context.ts';
import type { GroupChange, Step } from './model.ts';

export function useGroup(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getVehicleGroup', id],
    queryFn: async () => {
      const { data } = await api.GET('/api/vehicle-groups/{id}', { params: { path: { id } } });
      if (data === undefined) throw new Error('The server returned no group.');
      return data.data;
    },
  });
}

/** Returns a function that reads everything again that a change of groups concerns. */
function useRefresh(): () => Promise<unknown> {
  const queries = useQueryClient();
  return () =>
    Promise.all(
      ['listVehicleGroups', 'getVehicleGroup', 'listVehicles'].map((key) =>
        queries.invalidateQueries({ queryKey: [key] }),
      ),
    );
}

interface NewGroup {
  readonly name: string;
  readonly parentId: number | null;
}

export function useCreateGroup() {
  const { api } = useSession();
  const send = useSendOnce();
  return useMutation({
    mutationFn: async ({ name, parentId }: NewGroup) => {
      const body = { name, parent_group: parentId };
      return (await send(body, (header) => api.POST('/api/vehicle-groups', { params: { header }, body }))).data?.data;
    },
    onSuccess: useRefresh(),
  });
}

interface Save {
  readonly body: GroupChange;
  /** The version that the form loaded. */
  readonly version: number;
}

export function useSaveGroup(id: number, onSaved: (group: Group) => void) {
  const { api } = useSession();
  const refresh = useRefresh();
  const queries = useQueryClient();
  const path = { id };
  return useVersionedSave<Group, Save>({
    write: async ({ body, version }) => {
      const params = { path, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/vehicle-groups/{id}', { params, body })).data?.data;
    },
    read: async () => (await api.GET('/api/vehicle-groups/{id}', { params: { path } })).data?.data ?? null,
    onSaved: async (group) => {
      if (group !== undefined) {
        await storeRecord(queries, ['getVehicleGroup', id], group);
        onSaved(group);
      }
      await refresh();
    },
  });
}

/** Runs the steps of a move one after another. Running them again changes nothing more. */
export function useSteps() {
  const { api } = useSession();
  return useMutation({
    mutationFn: async (steps: readonly Step[]) => {
      for (const { groupId, body } of steps)
        await api.PUT('/api/vehicle-groups/{id}', { params: { path: { id: groupId } }, body });
    },
    onSettled: useRefresh(),
  });
}

export function useDeleteGroup({ id, version }: Group, onDeleted: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (isCascade: boolean) => {
      const query = isCascade ? { cascade: 'true' as const } : {};
      return api.DELETE('/api/vehicle-groups/{id}', {
        params: { path: { id }, query, header: { 'If-Match': `"${version}"` } },
      });
    },
    onSuccess: async () => {
      onDeleted();
      queries.removeQueries({ queryKey: ['getVehicleGroup', id] });
      await refresh();
    },
  });
}
