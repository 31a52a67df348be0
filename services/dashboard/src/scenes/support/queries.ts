import type { components } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSendOnce } from '../../common/forms/use-send-once.ts';
import { useSession } from '../../common/session/session-context.ts';

export type Ticket = components['schemas']['SupportTicket'];
export type TicketStatus = Ticket['status'];

const maxTickets = 100;

export function useTickets(status: '' | TicketStatus) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listSupportTickets', status],
    placeholderData: (before) => before,
    queryFn: async () => {
      const query = { limit: maxTickets, ...(status === '' ? {} : { status }) };
      return (await api.GET('/api/support-tickets', { params: { query } })).data?.data ?? [];
    },
  });
}

/** Returns the mutations of tickets. Each reads the list again. */
export function useTicketChanges() {
  const { api } = useSession();
  const queries = useQueryClient();
  const send = useSendOnce();
  const onSuccess = () => queries.invalidateQueries({ queryKey: ['listSupportTickets'] });
  const create = useMutation({
    mutationFn: (body: { subject: string; message: string; priority: Ticket['priority'] }) =>
      send(body, (header) => api.POST('/api/support-tickets', { body, params: { header } })),
    onSuccess,
  });
  const reply = useMutation({
    mutationFn: ({ id, message }: { id: number; message: string }) =>
      api.POST('/api/support-tickets/{id}/replies', { params: { path: { id } }, body: { message } }),
    onSuccess,
  });
  const setStatus = useMutation({
    mutationFn: ({ id, status }: { id: number; status: TicketStatus }) =>
      api.PUT('/api/support-tickets/{id}', { params: { path: { id } }, body: { status } }),
    onSuccess,
  });
  return { create, reply, setStatus };
}
