import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { storeRecord } from '../data/store-record.ts';
import { readAllPages } from '../fleet/queries.ts';
import { useSendOnce } from '../forms/use-send-once.ts';
import { useVersionedSave } from '../forms/use-versioned-save.ts';
import { useSession } from '../session/session-context.ts';
import type { Geofence } from './model.ts';

/** Vehicles inside and the states of terminals change by themselves. */
const refreshMs = 5_000;

export function useGeofences() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listGeofences', 'all'],
    queryFn: () =>
      readAllPages<Geofence>(async (page) => {
        const query = { ...page, sort: 'name' as const };
        return (await api.GET('/api/geofences', { params: { query } })).data?.data;
      }),
  });
}

export function useGeofence(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getGeofence', id],
    queryFn: async () => {
      const { data } = await api.GET('/api/geofences/{id}', { params: { path: { id } } });
      if (data === undefined) throw new Error('The server returned no geofence.');
      return data.data;
    },
    refetchInterval: ({ state }) => (state.status === 'error' ? false : refreshMs),
  });
}

interface Save {
  readonly body: Readonly<Record<string, unknown>>;
  /** The version that the form loaded. */
  readonly version: number;
}

/** Saves a geofence. `stored` is the record as somebody else changed it, after a save met another version. */
export function useSaveGeofence(id: number | null, onSaved: (geofence: Geofence) => void) {
  const { api } = useSession();
  const send = useSendOnce();
  const queries = useQueryClient();
  const path = { id: id ?? 0 };
  return useVersionedSave<Geofence, Save>({
    write: async ({ body, version }) => {
      if (id === null) {
        const created = await send(body, (header) =>
          api.POST('/api/geofences', { params: { header }, body: body as never }),
        );
        return created.data?.data;
      }
      const params = { path, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/geofences/{id}', { params, body })).data?.data;
    },
    read: async () => (await api.GET('/api/geofences/{id}', { params: { path } })).data?.data ?? null,
    onSaved: async (geofence) => {
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['listGeofences'] }),
        queries.invalidateQueries({ queryKey: ['palette'] }),
      ]);
      if (geofence === undefined) return;
      await storeRecord(queries, ['getGeofence', geofence.id], geofence);
      onSaved(geofence);
    },
  });
}

export function useDeleteGeofence({ id, version }: Geofence, onDeleted: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      api.DELETE('/api/geofences/{id}', { params: { path: { id }, header: { 'If-Match': `"${version}"` } } }),
    onSuccess: async () => {
      onDeleted();
      // The panel may still be visible for a moment and must not read the deleted record.
      await queries.invalidateQueries({ queryKey: ['getGeofence', id], refetchType: 'none' });
      await queries.invalidateQueries({ queryKey: ['listGeofences'] });
    },
  });
}
