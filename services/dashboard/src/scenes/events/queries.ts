import type { components } from '@fleet/api-client';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSession } from '../../common/session/session-context.ts';
import type { EventsSearch } from './search.ts';

export type EventRecord = components['schemas']['Notification'];

export const pageSize = 50;

export function useEvents({ severity, vehicle, page = 1 }: EventsSearch) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listNotifications', { severity, vehicle, page }],
    queryFn: async () => {
      const filter = {
        ...(severity === undefined ? {} : { severity }),
        ...(vehicle === undefined ? {} : { vehicle_id: vehicle }),
      };
      const query = { ...filter, limit: pageSize, offset: (page - 1) * pageSize };
      const { data } = await api.GET('/api/notifications', { params: { query } });
      if (data === undefined) throw new Error('The server returned no events.');
      return data;
    },
    placeholderData: keepPreviousData,
  });
}

export function useAcknowledge() {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, note }: { id: number; note: string }) =>
      api.POST('/api/notifications/{id}/acknowledge', {
        params: { path: { id } },
        body: note === '' ? {} : { note },
      }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['listNotifications'] }),
  });
}
