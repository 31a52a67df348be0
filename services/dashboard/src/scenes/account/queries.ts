import type { components } from '@fleet/api-client';
import { useQuery } from '@tanstack/react-query';
import { useSession } from '../../common/session/session-context.ts';

export type User = components['schemas']['User'];
export type CreatedUser = components['schemas']['CreatedUser'];

const maxUsers = 200;

export function useUsers(query = '') {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listUsers', query],
    placeholderData: (before) => before,
    queryFn: async () => {
      const search = { limit: maxUsers, sort: 'name' as const, ...(query === '' ? {} : { query }) };
      return (await api.GET('/api/users', { params: { query: search } })).data?.data ?? [];
    },
  });
}
