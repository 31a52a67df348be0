import type { components } from '@fleet/api-client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useSession } from '../../../common/session/session-context.ts';

export type Webhook = components['schemas']['Webhook'];

export interface WebhookForm {
  readonly url: string;
  readonly name: string;
  readonly secret: string;
  readonly enabled: boolean;
}

export function useWebhooks() {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listWebhooks'],
    queryFn: async () => (await api.GET('/api/user-webhooks')).data?.data ?? [],
  });
}

export function useDeliveries(id: number) {
  const { api } = useSession();
  return useQuery({
    queryKey: ['listDeliveries', id],
    queryFn: async () => {
      const params = { path: { id }, query: { limit: 20 } };
      return (await api.GET('/api/user-webhooks/{id}/deliveries', { params })).data?.data ?? [];
    },
  });
}

/** Returns the mutations of webhooks. Each reads the list again. */
export function useWebhookChanges() {
  const { api } = useSession();
  const queries = useQueryClient();
  const onSuccess = async (): Promise<void> => {
    await queries.invalidateQueries({ queryKey: ['listWebhooks'] });
    await queries.invalidateQueries({ queryKey: ['listDeliveries'] });
  };
  const save = useMutation({
    mutationFn: async ({ webhook, form }: { webhook: Webhook | null; form: WebhookForm }): Promise<string | null> => {
      const { url, name, secret, enabled } = form;
      const body = { url, name: name === '' ? null : name, enabled, ...(secret === '' ? {} : { secret }) };
      if (webhook === null) {
        const { data } = await api.POST('/api/user-webhooks', { body });
        return data?.data.secret ?? null;
      }
      await api.PUT('/api/user-webhooks/{id}', { params: { path: { id: webhook.id } }, body });
      return null;
    },
    onSuccess,
  });
  const remove = useMutation({
    mutationFn: (id: number) => api.DELETE('/api/user-webhooks/{id}', { params: { path: { id } } }),
    onSuccess,
  });
  const test = useMutation({
    mutationFn: async (id: number) =>
      (await api.POST('/api/user-webhooks/{id}/test', { params: { path: { id } }, body: {} })).data?.data,
    onSuccess,
  });
  const regenerate = useMutation({
    mutationFn: async (id: number) => {
      const request = { params: { path: { id } }, body: { grace_hours: 24 } };
      return (await api.POST('/api/user-webhooks/{id}/regenerate-secret', request)).data?.data.secret ?? null;
    },
    onSuccess,
  });
  const retry = useMutation({
    mutationFn: ({ id, deliveryId }: { id: number; deliveryId: string }) =>
      api.POST('/api/user-webhooks/{id}/deliveries/{deliveryId}/retry', { params: { path: { id, deliveryId } } }),
    onSuccess,
  });
  return { save, remove, test, regenerate, retry };
}
