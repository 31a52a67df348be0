import { ApiFailure } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef } from 'react';
import { createIdempotencyKey } from '../../../common/forms/idempotency-key.ts';
import { useSession } from '../../../common/session/session-context.ts';
import type { Command, CommandType } from './command-fields.ts';

export interface NewCommand {
  readonly type: CommandType;
  readonly params: Readonly<Record<string, unknown>>;
  readonly ttl_seconds: number;
}

/** Returns the query of the newest commands. The `command` event makes it stale. */
export function useCommands(vehicleId: number, limit: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listCommands', vehicleId, limit],
    queryFn: async () => {
      const params = { path: { vehicleId }, query: { limit } };
      const { data } = await api.GET('/api/vehicles/{vehicleId}/commands', { params });
      return { commands: data?.data ?? [], total: data?.meta.pagination.total ?? 0 };
    },
    placeholderData: (previous) => previous,
  });
}

/** Returns the mutation that queues a command. A repeated click of the same form sends one command. */
export function useSendCommand(vehicleId: number, onSent: () => void) {
  const { api } = useSession();
  const queries = useQueryClient();
  const key = useRef(createIdempotencyKey());
  return useMutation({
    mutationFn: ({ params, ...body }: NewCommand) =>
      api.POST('/api/vehicles/{vehicleId}/commands', {
        params: { path: { vehicleId }, header: { 'Idempotency-Key': key.current } },
        body: { ...body, params: { ...params } },
      }),
    onSuccess: async () => {
      onSent();
      await queries.invalidateQueries({ queryKey: ['listCommands', vehicleId] });
    },
    onSettled: (_, error) => {
      // Without a response the command may have arrived: the same key prevents a second one.
      if (!(error instanceof ApiFailure) || error.status !== 0) key.current = createIdempotencyKey();
    },
  });
}

/** Returns the mutation that cancels a command that was not sent yet. */
export function useCancelCommand(vehicleId: number) {
  const { api } = useSession();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ command_id: commandId }: Command) =>
      api.DELETE('/api/vehicles/{vehicleId}/commands/{commandId}', { params: { path: { vehicleId, commandId } } }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['listCommands', vehicleId] }),
  });
}
