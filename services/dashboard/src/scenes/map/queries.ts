import { useQueries, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useSession } from '../../common/session/session-context.ts';
import { toGeofenceFeatures, toRouteFeatures } from './model.ts';

/** Largest number of geofences and of routes on the map. */
const maxAreas = 200;
const noGeofences: Parameters<typeof toGeofenceFeatures>[0] = [];
const noRoutes: Parameters<typeof toRouteFeatures>[0] = [];

export function useGeofenceFeatures(isEnabled: boolean) {
  const { api } = useSession();
  const { data = noGeofences } = useQuery({
    queryKey: ['listGeofences', 'map'],
    queryFn: async () =>
      (await api.GET('/api/geofences', { params: { query: { limit: maxAreas } } })).data?.data ?? noGeofences,
    enabled: isEnabled,
  });
  return useMemo(() => toGeofenceFeatures(data), [data]);
}

export function useRouteFeatures(isEnabled: boolean) {
  const { api } = useSession();
  const { data = noRoutes } = useQuery({
    queryKey: ['listRoutes', 'map'],
    queryFn: async () =>
      (await api.GET('/api/routes', { params: { query: { limit: maxAreas, active: true } } })).data?.data ?? noRoutes,
    enabled: isEnabled,
  });
  return useMemo(() => toRouteFeatures(data), [data]);
}

/** Returns the record of a vehicle, for the values that positions do not contain. */
export function useVehicleRecord(vehicleId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getVehicle', vehicleId],
    queryFn: async () =>
      (await api.GET('/api/vehicles/{vehicleId}', { params: { path: { vehicleId } } })).data?.data ?? null,
  });
}

/** Returns the newest events of a vehicle without acknowledgement. */
export function useOpenEvents(vehicleId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotifications', 'open', vehicleId],
    queryFn: async () => {
      const query = { vehicle_id: String(vehicleId), acknowledged: false, limit: 50 };
      const { data } = await api.GET('/api/notifications', { params: { query } });
      return (data?.data ?? []).filter(({ severity }) => severity !== 'info');
    },
  });
}

/** Returns the address of the position at which the panel was opened. */
export function useAddress(vehicleId: number, position: { latitude: number; longitude: number } | null) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['reverseGeocode', vehicleId],
    queryFn: async () => {
      const query = { latitude: position?.latitude ?? 0, longitude: position?.longitude ?? 0 };
      return (await api.GET('/api/devices/reverse-geocode', { params: { query } })).data?.data.address ?? null;
    },
    enabled: position !== null,
  });
}

/** Returns the routes of vehicles to a place, in the order of the vehicles. */
export function useArrivals(vehicleIds: readonly number[], [latitude, longitude]: readonly [number, number]) {
  const { api } = useSession();
  return useQueries({
    queries: vehicleIds.map((vehicleId) => ({
      queryKey: ['generateRoute', vehicleId, latitude, longitude],
      queryFn: async () => {
        const query = { vehicle_id: vehicleId, latitude, longitude };
        return (await api.GET('/api/devices/generate-route', { params: { query } })).data?.data ?? null;
      },
    })),
  });
}
