import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSendOnce } from '../../../common/forms/use-send-once.ts';
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
  const send = useSendOnce();
  return useMutation({
    mutationFn: ({ params, ...command }: NewCommand) => {
      const body = { ...command, params: { ...params } };
      return send(body, (header) =>
        api.POST('/api/vehicles/{vehicleId}/commands', { params: { path: { vehicleId }, header }, body }),
      );
    },
    onSuccess: async () => {
      onSent();
      await queries.invalidateQueries({ queryKey: ['listCommands', vehicleId] });
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
