import { ApiFailure } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { storeRecord } from '../../common/data/store-record.ts';
import { readAllPages } from '../../common/fleet/queries.ts';
import { useSession } from '../../common/session/session-context.ts';
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
  readonly idempotencyKey: string;
}

/** Saves a geofence. `stored` is the record as somebody else changed it, after a save met another version. */
export function useSaveGeofence(id: number | null, onSaved: (geofence: Geofence) => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  const [stored, setStored] = useState<Geofence | null>(null);
  const save = useMutation({
    mutationFn: async ({ body, version, idempotencyKey }: Save) => {
      if (id === null) {
        const params = { header: { 'Idempotency-Key': idempotencyKey } };
        return (await api.POST('/api/geofences', { params, body: body as never })).data?.data;
      }
      const params = { path: { id }, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/geofences/{id}', { params, body })).data?.data;
    },
    onSuccess: async (geofence) => {
      setStored(null);
      await Promise.all([
        queries.invalidateQueries({ queryKey: ['listGeofences'] }),
        queries.invalidateQueries({ queryKey: ['palette'] }),
      ]);
      if (geofence === undefined) return;
      await storeRecord(queries, ['getGeofence', geofence.id], geofence);
      onSaved(geofence);
    },
    onError: async (error) => {
      if (id === null || !(error instanceof ApiFailure) || error.status !== 412) return;
      setStored((await api.GET('/api/geofences/{id}', { params: { path: { id } } })).data?.data ?? null);
    },
  });
  return { save, stored, discard: () => setStored(null) };
}

export function useDeleteGeofence({ id, version }: Geofence, onDeleted: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      api.DELETE('/api/geofences/{id}', { params: { path: { id }, header: { 'If-Match': `"${version}"` } } }),
    onSuccess: async () => {
      onDeleted();
      queries.removeQueries({ queryKey: ['getGeofence', id] });
      await queries.invalidateQueries({ queryKey: ['listGeofences'] });
    },
  });
}
