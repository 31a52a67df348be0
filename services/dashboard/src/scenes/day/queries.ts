import type { components, PlatformClient } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { storeRecord } from '../../common/data/store-record.ts';
import { useSession } from '../../common/session/session-context.ts';
import type { TimeSpan } from '../../common/timeline/time-scale.ts';
import type { Fix } from './model.ts';

export type EventRecord = components['schemas']['Notification'];
export type Trip = components['schemas']['Trip'];
export type StopRecord = components['schemas']['Stop'];

const pageSize = 200;
/** A day with ten reports a second is cut, which no terminal sends. */
const maxPages = 90;

export function useVehicle(vehicleId: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['getVehicle', vehicleId],
    queryFn: async () => {
      const { data } = await api.GET('/api/vehicles/{vehicleId}', { params: { path: { vehicleId } } });
      if (data === undefined) throw new Error('The server returned no vehicle.');
      return data.data;
    },
  });
}

async function listFixes(api: PlatformClient, vehicleId: number, { fromMs, toMs }: TimeSpan): Promise<Fix[]> {
  const fixes: Fix[] = [];
  let from: number | null = fromMs;
  for (let page = 0; from !== null && page < maxPages; page += 1) {
    const query: { from: string; to: string } = { from: String(from), to: String(toMs - 1) };
    const { data } = await api.GET('/api/vehicles/{vehicleId}/locations', { params: { path: { vehicleId }, query } });
    fixes.push(...(data?.data ?? []));
    from = data?.meta.next_from ?? null;
  }
  return fixes;
}

/** Returns the query of all reports of a day. */
export function useFixes(vehicleId: number, day: TimeSpan) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listVehicleLocations', vehicleId, day.fromMs],
    queryFn: () => listFixes(api, vehicleId, day),
  });
}

/** Returns the query of the trips that began on a day, and of the stops after them with their addresses. */
export function useTrips(vehicleId: number, day: TimeSpan) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listVehicleTrips', vehicleId, day.fromMs],
    queryFn: async () => {
      const query = { from: String(day.fromMs), to: String(day.toMs - 1), address: true, stops: true };
      const { data } = await api.GET('/api/vehicles/{vehicleId}/trips', { params: { path: { vehicleId }, query } });
      return { trips: data?.data ?? [], stops: data?.meta?.stops ?? [] };
    },
  });
}

async function listEvents(api: PlatformClient, vehicleId: number, { fromMs, toMs }: TimeSpan): Promise<EventRecord[]> {
  const events: EventRecord[] = [];
  for (;;) {
    const span = { from: String(fromMs), to: String(toMs - 1), sort: 'timestamp' as const };
    const query = { vehicle_id: String(vehicleId), ...span, limit: pageSize, offset: events.length };
    const page = (await api.GET('/api/notifications', { params: { query } })).data?.data ?? [];
    events.push(...page);
    if (page.length < pageSize) return events;
  }
}

/** Returns the query of all events of a day, the oldest first. */
export function useDayEvents(vehicleId: number, day: TimeSpan) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotifications', 'day', vehicleId, day.fromMs],
    queryFn: () => listEvents(api, vehicleId, day),
  });
}

/** Returns the query of the days of a month with data. */
export function useDays(vehicleId: number, month: string) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listVehicleDays', vehicleId, month],
    queryFn: async () => {
      const params = { path: { vehicleId }, query: { month } };
      const { data } = await api.GET('/api/vehicles/{vehicleId}/days', { params });
      if (data === undefined) throw new Error('The server returned no days.');
      return data.data;
    },
  });
}

export type Recordings = components['schemas']['Recordings'];

/** Returns the recordings on the cameras on a day, and the mutation that queries the cameras. */
export function useRecordings(vehicleId: number, { fromMs, toMs }: TimeSpan, enabled: boolean) {
  const { api } = useSession();
  const queries = useQueryClient();
  const queryKey = ['listRecordings', vehicleId, fromMs];
  const list = async (refresh: boolean): Promise<Recordings> => {
    const query = { from: String(fromMs), to: String(Math.min(toMs, Date.now())), refresh };
    const { data } = await api.GET('/api/vehicles/{vehicleId}/recordings', { params: { path: { vehicleId }, query } });
    if (data === undefined) throw new Error('The server returned no recordings.');
    return data.data;
  };
  const recordings = useQuery({ queryKey, enabled: enabled && fromMs < Date.now(), queryFn: () => list(false) });
  const refresh = useMutation({
    mutationFn: () => list(true),
    onSuccess: (found) => storeRecord(queries, queryKey, found),
  });
  return { recordings: recordings.data, refresh };
}
