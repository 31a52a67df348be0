import { useMutation, useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { storeRecord } from '../data/store-record.ts';
import { readAllPages } from '../fleet/queries.ts';
import { useSendOnce } from '../forms/use-send-once.ts';
import { useVersionedSave } from '../forms/use-versioned-save.ts';
import type { Position } from '../map/shapes.ts';
import { useSession } from '../session/session-context.ts';
import type { Route } from './model.ts';

/** Progress changes with each position. */
const progressMs = 5_000;
/** Vehicles whose progress is displayed. */
const maxVehicles = 20;

export function useRoutes() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listRoutes', 'all'],
    queryFn: () =>
      readAllPages<Route>(async (page) => {
        const query = { ...page, sort: 'name' as const };
        return (await api.GET('/api/routes', { params: { query } })).data?.data;
      }),
  });
}

export function useRoute(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getRoute', id],
    queryFn: async () => {
      const { data } = await api.GET('/api/routes/{id}', { params: { path: { id } } });
      if (data === undefined) throw new Error('The server returned no route.');
      return data.data;
    },
  });
}

interface Save {
  readonly body: Readonly<Record<string, unknown>>;
  /** The version that the form loaded. */
  readonly version: number;
}

/** Saves a route. `stored` is the record as somebody else changed it, after a save met another version. */
export function useSaveRoute(id: number | null, onSaved: (route: Route) => void) {
  const { api } = useSession();
  const send = useSendOnce();
  const queries = useQueryClient();
  const path = { id: id ?? 0 };
  return useVersionedSave<Route, Save>({
    write: async ({ body, version }) => {
      if (id === null) {
        const created = await send(body, (header) =>
          api.POST('/api/routes', { params: { header }, body: body as never }),
        );
        return created.data?.data;
      }
      const params = { path, header: { 'If-Match': `"${version}"` } };
      return (await api.PUT('/api/routes/{id}', { params, body })).data?.data;
    },
    read: async () => (await api.GET('/api/routes/{id}', { params: { path } })).data?.data ?? null,
    onSaved: async (route) => {
      await Promise.all(
        ['listRoutes', 'palette', 'listTollGates'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
      if (route === undefined) return;
      await storeRecord(queries, ['getRoute', route.id], route);
      onSaved(route);
    },
  });
}

export function useDeleteRoute({ id, version }: Route, onDeleted: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      api.DELETE('/api/routes/{id}', { params: { path: { id }, header: { 'If-Match': `"${version}"` } } }),
    onSuccess: async () => {
      onDeleted();
      // The panel may still be visible for a moment and must not read the deleted record.
      await queries.invalidateQueries({ queryKey: ['getRoute', id], refetchType: 'none' });
      await queries.invalidateQueries({ queryKey: ['listRoutes'] });
    },
  });
}

/** Matches waypoints to roads. */
export function useSnap(onSnapped: (path: readonly Position[]) => void) {
  const { api } = useSession();
  return useMutation({
    mutationFn: async ({ positions, profile }: { positions: readonly Position[]; profile: Route['profile'] }) => {
      const coordinates = positions.map(([lat, lng]) => ({ lat, lng }));
      return (await api.POST('/api/routes/snap-to-road', { body: { coordinates, profile } })).data?.data;
    },
    onSuccess: (result) => onSnapped((result?.coordinates ?? []).map(({ lat, lng }) => [lat, lng] as const)),
  });
}

/** Generates the route of a vehicle to a place or an address. */
export function useGenerateRoute(onGenerated: (path: readonly Position[]) => void) {
  const { api } = useSession();
  return useMutation({
    mutationFn: async ({ vehicleId, destination }: { vehicleId: number; destination: Position | string }) => {
      const target =
        typeof destination === 'string'
          ? { address: destination }
          : { latitude: destination[0], longitude: destination[1] };
      const query = { vehicle_id: vehicleId, ...target };
      return (await api.GET('/api/devices/generate-route', { params: { query } })).data?.data;
    },
    onSuccess: (result) =>
      onGenerated((result?.coordinates ?? []).map(([latitude = 0, longitude = 0]) => [latitude, longitude] as const)),
  });
}

export function useTollGates(routeId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listTollGates', routeId],
    queryFn: async () => {
      const query = { route_id: routeId, limit: 200 };
      return (await api.GET('/api/toll-gates', { params: { query } })).data?.data ?? [];
    },
  });
}

/** Returns the progress of each vehicle on a route; undefined while it is read. */
export function useProgress(routeId: number, vehicleIds: readonly number[]) {
  const { api } = useSession();
  return useQueries({
    queries: vehicleIds.slice(0, maxVehicles).map((vehicleId) => ({
      queryKey: ['listLinkedRoutes', vehicleId, 'of route', routeId],
      queryFn: async () => {
        const params = { path: { vehicleId }, query: { limit: 200 } };
        const { data } = await api.GET('/api/vehicles/{vehicleId}/list-linked-routes', { params });
        return data?.data.find(({ id }) => id === routeId)?.progress ?? null;
      },
      refetchInterval: progressMs,
    })),
  });
}

/** Links a vehicle to a route, or removes the link. `onLinked` receives the route after the change. */
export function useLink(routeId: number, onLinked: (route: Route) => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ vehicleId, isLinked }: { vehicleId: number; isLinked: boolean }): Promise<unknown> => {
      const request = { params: { path: { vehicleId } }, body: { route_ids: [routeId] } };
      return isLinked
        ? api.POST('/api/vehicles/{vehicleId}/unlink-route', request)
        : api.POST('/api/vehicles/{vehicleId}/link-route', request);
    },
    onSettled: async () => {
      await Promise.all(
        ['getRoute', 'listRoutes', 'listLinkedRoutes'].map((key) => queries.invalidateQueries({ queryKey: [key] })),
      );
      const route = queries.getQueryData<Route>(['getRoute', routeId]);
      if (route !== undefined) onLinked(route);
    },
  });
}
